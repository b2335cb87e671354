//===- PtxKernel.cpp - A kernel that a test runs --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxKernel.h"

namespace weft::emulator {

PtxKernel::PtxKernel(const std::string &text, const std::string &name) {
  bool isWhole = text.find(".target") != text.npos;
  Module module = parseModule(
      isWhole ? text
              : ".version 8.0\n.target sm_80\n.address_size 64\n" + text);
  SymbolAddresses addresses;
  for (const Variable &variable : module.variables) {
    std::vector<std::byte> &storage = variables[variable.name];
    storage.resize(variable.size);
    size_t element = sizeOf(variable.type);
    for (size_t i = 0; i < variable.initial.size(); ++i)
      std::memcpy(storage.data() + i * element, &variable.initial[i].bits,
                  element);
    addresses[variable.name] = reinterpret_cast<uint64_t>(storage.data());
  }
  auto function = module.functions.find(name);
  if (function == module.functions.end())
    throw std::runtime_error("no kernel " + name);
  program = translate(module, function->second, addresses);
}

uint64_t PtxKernel::launch(const Shape &shape) {
  for (auto &[name, storage] : variables) {
    Range range;
    range.begin = reinterpret_cast<uint64_t>(storage.data());
    range.end = range.begin + storage.size();
    range.storage = storage.data();
    if (range.begin != range.end)
      ranges.push_back(range);
  }
  std::vector<std::byte> packed(program.parameterBytes);
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    auto [offset, size] = program.parameters[i];
    if (i >= parameters.size() || parameters[i].size() != size)
      throw std::runtime_error("wrong arguments");
    std::memcpy(packed.data() + offset, parameters[i].data(), size);
  }
  AddressSpace memory(ranges);
  Launch launch;
  launch.program = &program;
  launch.grid = shape.grid;
  launch.block = shape.block;
  launch.dynamicShared = shape.dynamicShared;
  launch.parameters = packed.data();
  launch.memory = &memory;
  launch.operationLimit = shape.operationLimit;
  return emulator::run(launch, options);
}

std::string mapKernel(const std::string &inputType,
                      const std::string &resultType, const std::string &body,
                      int inputs) {
  auto bytes = [](const std::string &type) {
    return std::to_string(sizeOf(*parseType(type)));
  };
  auto storage = [](const std::string &type) {
    uint32_t size = sizeOf(*parseType(type));
    return ".b" + std::to_string(size == 1 ? 16 : 8 * size);
  };
  auto memory = [&](const std::string &type) {
    return ".b" + std::to_string(8 * sizeOf(*parseType(type)));
  };
  std::string text = ".visible .entry f(.param .u64 pa, .param .u64 pb,\n"
                     ".param .u64 pc, .param .u64 pd) {\n"
                     ".reg .b64 %pa, %pb, %pc, %pd, %i, %x, %l<9>;\n"
                     ".reg .b32 %t, %r<9>; .reg .b16 %s<9>; .reg .f32 %f<9>;\n"
                     ".reg .f64 %g<9>; .reg .pred %p<9>;\n"
                     "mov.u32 %t, %tid.x;\ncvt.u64.u32 %i, %t;\n";
  const char *names[] = {"a", "b", "c"};
  for (int k = 0; k < inputs; ++k) {
    std::string n = names[k];
    text += ".reg " + storage(inputType) + " %" + n + ";\n" +
            "ld.param.u64 %p" + n + ", [p" + n + "];\n" +
            "mad.lo.u64 %x, %i, " + bytes(inputType) + ", %p" + n +
            ";\nld.global" + memory(inputType) + " %" + n + ", [%x];\n";
  }
  text += ".reg " + storage(resultType) + " %d;\n" + body +
          "\nld.param.u64 %pd, [pd];\nmad.lo.u64 %x, %i, " + bytes(resultType) +
          ", %pd;\nst.global" + memory(resultType) + " [%x], %d;\nret;\n}\n";
  return text;
}

} // namespace weft::emulator
