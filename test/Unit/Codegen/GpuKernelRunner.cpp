//===- GpuKernelRunner.cpp - Kernels for a GPU, without one ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuKernelRunner.h"

#include "mlir/IR/BuiltinTypes.h"

#include "ptx/Error.h"
#include "ptx/Parser.h"
#include "ptx/Translator.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace weft;
using namespace weft::test;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static size_t bytesOf(mlir::Type element) {
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

template <typename T, typename Make>
static void fillAs(Memory &memory, Make make) {
  for (size_t at = 0; at + sizeof(T) <= memory.size(); at += sizeof(T)) {
    T value = make();
    std::memcpy(memory.data() + at, &value, sizeof(T));
  }
}

static Memory randomMemory(mlir::RankedTensorType type, unsigned seed) {
  mlir::Type element = type.getElementType();
  Memory memory(type.getNumElements() * bytesOf(element));
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> real(-3, 3);
  std::uniform_int_distribution<int> whole(0, 7);
  auto number = [&] { return real(random); };
  auto integer = [&] { return whole(random); };
  if (element.isF32())
    fillAs<float>(memory, number);
  else if (element.isF64())
    fillAs<double>(memory, number);
  else if (element.isBF16())
    fillAs<uint16_t>(memory, [&] { return toBf16(real(random)); });
  else if (element.isF16())
    fillAs<uint16_t>(memory, [&] { return toHalf(real(random)); });
  else if (element.isInteger(1))
    fillAs<uint8_t>(memory, [&] { return whole(random) & 1; });
  else if (element.isInteger(8))
    fillAs<int8_t>(memory, integer);
  else if (element.isInteger(16))
    fillAs<int16_t>(memory, integer);
  else if (element.isInteger(32))
    fillAs<int32_t>(memory, integer);
  else
    fillAs<int64_t>(memory, integer);
  return memory;
}

template <typename T> static T at(const Memory &memory, size_t index) {
  T value;
  std::memcpy(&value, memory.data() + index * sizeof(T), sizeof(T));
  return value;
}

static double floatAt(const Memory &memory, mlir::Type element, size_t i) {
  if (element.isF64())
    return at<double>(memory, i);
  if (element.isF32())
    return at<float>(memory, i);
  auto bits = at<uint16_t>(memory, i);
  return element.isBF16() ? fromBf16(bits) : fromHalf(bits);
}

static void expectNear(const Memory &cpu, const Memory &gpu, mlir::Type element,
                       double tolerance, const std::string &what) {
  if (!mlir::isa<mlir::FloatType>(element) || tolerance == 0) {
    EXPECT_TRUE(cpu == gpu) << what;
    return;
  }
  size_t count = cpu.size() / bytesOf(element);
  double largest = 0, worst = 0;
  for (size_t i = 0; i < count; ++i) {
    double x = floatAt(cpu, element, i), y = floatAt(gpu, element, i);
    ASSERT_EQ(std::isnan(x), std::isnan(y)) << what << ", element " << i;
    if (std::isnan(x))
      continue;
    largest = std::max(largest, std::abs(x));
    if (x == y) // also infinities
      continue;
    worst = std::max(worst, std::abs(x - y));
  }
  EXPECT_LE(worst, tolerance * largest) << what;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

GpuComparison::GpuComparison(const std::string &text,
                             KernelRunner::InPlace inPlace, int64_t maxBatch)
    : kernels(text, "host", inPlace), inPlace(inPlace), maxBatch(maxBatch) {
  EXPECT_TRUE(kernels.compiled()) << kernels.messages();
  std::vector<KernelRequest> requests;
  for (const std::string &name : kernels.symbols()) {
    names.push_back(name);
    requests.push_back({kernels.function(name), inPlace[name], name, maxBatch});
  }
  TargetOptions target;
  target.gpu = "sm_80";
  target.ptxas = "none";
  auto compiled = compileGpuKernels(requests, target);
  EXPECT_TRUE(mlir::succeeded(compiled)) << kernels.messages();
  if (mlir::succeeded(compiled))
    code = std::move(*compiled);
  size_t bytes = 0;
  for (const KernelGrid &grid : code.grids)
    bytes = std::max<size_t>(bytes, grid.workspaceBytes);
  workspace.resize(bytes);
}

const KernelGrid &GpuComparison::grid(const std::string &name) const {
  return code.grids[llvm::find(names, name) - names.begin()];
}

/// Each has addresses of its own, from a multiple of everything on.
static emulator::Range rangeOf(Memory &memory, size_t number) {
  emulator::Range range;
  range.begin = uint64_t(number + 1) << 32;
  range.end = range.begin + memory.size();
  range.storage = memory.data();
  return range;
}

void GpuComparison::runOnGpu(const std::string &name, Sets &sets,
                             uint64_t seed) {
  emulator::Module module = emulator::parseModule(code.ptx);
  std::vector<emulator::Range> ranges;
  auto place = [&](Memory &memory) {
    emulator::Range range = rangeOf(memory, ranges.size());
    ranges.push_back(range);
    return range.begin;
  };
  // Constants.
  std::map<std::string, Memory> variables;
  emulator::SymbolAddresses addresses;
  for (const emulator::Variable &variable : module.variables) {
    Memory &storage = variables[variable.name];
    storage.resize(variable.size);
    size_t element = emulator::sizeOf(variable.type);
    for (size_t i = 0; i < variable.initial.size(); ++i)
      std::memcpy(storage.data() + i * element, &variable.initial[i].bits,
                  element);
    addresses[variable.name] = place(storage);
  }
  emulator::Program program =
      emulator::translate(module, module.functions.at(name), addresses);

  const KernelGrid &launch = grid(name);
  std::vector<uint64_t> parameters;
  for (std::vector<Memory> &buffers : sets)
    for (Memory &buffer : buffers)
      parameters.push_back(place(buffer));
  // Sets that the table has room for, positions, the workspace.
  parameters.resize(maxBatch * sets.front().size());
  size_t workspaces = launch.workspaceBytes > 0;
  parameters.resize(program.parameterBytes / sizeof(uint64_t) - workspaces, 1);
  if (launch.workspaceBytes > 0)
    parameters.push_back(place(workspace));
  emulator::AddressSpace memory(ranges);
  emulator::Launch run;
  run.program = &program;
  run.grid.x = launch.blocks;
  run.grid.y = sets.size();
  run.block.x = launch.threads;
  run.dynamicShared = launch.launchSharedBytes;
  run.parameters = reinterpret_cast<const std::byte *>(parameters.data());
  run.memory = &memory;
  emulator::RunOptions options;
  options.seed = seed;
  options.findRaces = options.findUninitialized = true;
  options.traffic = &moved;
  try {
    emulator::run(run, options);
  } catch (const std::exception &problem) {
    FAIL() << name << ": " << problem.what();
  }
}

/// The types of a kernel's buffers: of its operands, and of the results that
/// are in none of them.
static std::vector<mlir::RankedTensorType>
bufferTypes(mlir::func::FuncOp function, const std::vector<int64_t> &inPlace) {
  std::vector<mlir::RankedTensorType> types;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (!function.getArgAttr(i, "weft.position"))
      types.push_back(
          mlir::cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (inPlace.empty() || inPlace[i] < 0)
      types.push_back(
          mlir::cast<mlir::RankedTensorType>(function.getResultTypes()[i]));
  return types;
}

GpuComparison::Sets GpuComparison::makeSets(const std::string &name) {
  Sets sets(std::max<int64_t>(maxBatch - 1, 1));
  unsigned seed = 0;
  for (std::vector<Memory> &buffers : sets)
    for (auto type : bufferTypes(kernels.function(name), inPlace[name]))
      buffers.push_back(randomMemory(type, ++seed));
  return sets;
}

void GpuComparison::runOnCpu(const std::string &name, Sets &sets) {
  mlir::func::FuncOp function = kernels.function(name);
  std::vector<int64_t> positions;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, "weft.position"))
      positions.push_back(1);
  for (std::vector<Memory> &buffers : sets) {
    std::vector<void *> addresses;
    for (Memory &buffer : buffers)
      addresses.push_back(buffer.data());
    kernels.run(name, addresses, positions);
  }
}

void GpuComparison::check(const std::string &name, double tolerance) {
  auto types = bufferTypes(kernels.function(name), inPlace[name]);
  const Sets first = makeSets(name);
  Sets cpu = first, gpu = first, again = first;
  runOnCpu(name, cpu);
  runOnGpu(name, gpu, 1);
  runOnGpu(name, again, 2);
  for (size_t set = 0; set < first.size(); ++set)
    for (size_t i = 0; i < types.size(); ++i) {
      std::string what = name + ", buffer " + std::to_string(i) + " of set " +
                         std::to_string(set);
      expectNear(cpu[set][i], gpu[set][i], types[i].getElementType(), tolerance,
                 what);
      EXPECT_TRUE(gpu[set][i] == again[set][i])
          << what << " in another order of blocks";
    }
  for (int64_t i = 0; i < grid(name).workspaceBytes && i < 65536; ++i)
    ASSERT_EQ(workspace[i], std::byte(0)) << name << " leaves counters";
}
