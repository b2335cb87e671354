//===- CheckProgram.cpp - Sharded against one device ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckProgram.h"
#include "CompileProgram.h"
#include "Random.h"

#include "weft/runtime/Session.h"

#include <cmath>
#include <map>

using namespace weft;
using namespace weft::test;
using runtime::Array;
using runtime::DType;

namespace {

using Arrays = std::map<std::string, Array>;

DType dtypeOf(Element element) {
  switch (element) {
  case Element::F32:
    return DType::F32;
  case Element::BF16:
    return DType::BF16;
  case Element::F16:
    return DType::F16;
  case Element::F64:
    return DType::F64;
  case Element::I32:
    return DType::I32;
  case Element::I64:
    return DType::I64;
  case Element::I16:
    return DType::I16;
  case Element::I8:
    return DType::I8;
  case Element::I1:
    return DType::Pred;
  }
  return DType::F32;
}

/// Floats of [-1, 1), integers of random bits, predicates.
Array randomArray(const Value &value, uint64_t seed) {
  Random random(seed);
  Array array(dtypeOf(value.element),
              std::vector<int64_t>(value.shape.begin(), value.shape.end()));
  for (int64_t i = 0; i < array.size(); ++i) {
    const double number = random.symmetric();
    switch (value.element) {
    case Element::F32:
      array.as<float>()[i] = static_cast<float>(number);
      break;
    case Element::BF16:
      array.as<runtime::BFloat16>()[i] =
          runtime::toBFloat16(static_cast<float>(number));
      break;
    case Element::F16:
      array.as<runtime::Float16>()[i] =
          runtime::toFloat16(static_cast<float>(number));
      break;
    case Element::F64:
      array.as<double>()[i] = number;
      break;
    case Element::I32:
      array.as<int32_t>()[i] = static_cast<int32_t>(random.bits());
      break;
    case Element::I64:
      array.as<int64_t>()[i] = static_cast<int64_t>(random.bits());
      break;
    case Element::I16:
      array.as<int16_t>()[i] = static_cast<int16_t>(random.bits());
      break;
    case Element::I8:
      array.as<int8_t>()[i] = static_cast<int8_t>(random.bits());
      break;
    case Element::I1:
      array.as<uint8_t>()[i] = number < 0;
      break;
    }
  }
  return array;
}

double floatAt(const Array &array, int64_t i) {
  if (array.dtype == DType::F64)
    return array.as<double>()[i];
  if (array.dtype == DType::BF16)
    return runtime::toFloat(array.as<runtime::BFloat16>()[i]);
  if (array.dtype == DType::F16)
    return runtime::toFloat(array.as<runtime::Float16>()[i]);
  return array.as<float>()[i];
}

int64_t integerAt(const Array &array, int64_t i) {
  if (array.dtype == DType::I64)
    return array.as<int64_t>()[i];
  if (array.dtype == DType::I16)
    return array.as<int16_t>()[i];
  if (array.dtype == DType::I8)
    return array.as<int8_t>()[i];
  if (array.dtype == DType::Pred)
    return array.as<uint8_t>()[i];
  return array.as<int32_t>()[i];
}

/// Where and how two arrays differ by more than `value.error`, if they do.
std::optional<std::string> difference(const Value &value, const Array &sharded,
                                      const Array &single) {
  if (sharded.shape != single.shape || sharded.dtype != single.dtype)
    return "the types differ";
  for (int64_t i = 0; i < single.size(); ++i) {
    std::string values;
    if (isFloat(value.element)) {
      const double a = floatAt(sharded, i), b = floatAt(single, i);
      if (std::abs(a - b) <= value.error || (std::isnan(a) && std::isnan(b)))
        continue;
      values = std::to_string(a) + " sharded, " + std::to_string(b) +
               " on one device, allowed difference " +
               std::to_string(value.error);
    } else {
      const int64_t a = integerAt(sharded, i), b = integerAt(single, i);
      if (a == b)
        continue;
      values = std::to_string(a) + " sharded, " + std::to_string(b) +
               " on one device";
    }
    return "element " + std::to_string(i) + " is " + values;
  }
  return std::nullopt;
}

/// Runs a plan once on `inputs`.
runtime::Result<Arrays> runPlan(const std::string &plan, const Arrays &inputs,
                                const Program &program) {
  WEFT_ASSIGN_OR_RETURN(runtime::Plan loaded,
                        runtime::Plan::parse(std::as_bytes(std::span(plan))));
  WEFT_ASSIGN_OR_RETURN(auto session,
                        runtime::Session::create(std::move(loaded)));
  for (const auto &[name, array] : inputs)
    WEFT_RETURN_IF_ERROR(session->setInput("main", name, array));
  WEFT_RETURN_IF_ERROR(session->run("main"));
  Arrays outputs;
  for (const Port &port : program.results) {
    const std::string name = "r" + std::to_string(port.value);
    WEFT_ASSIGN_OR_RETURN(Array array, session->getOutput(name));
    outputs.emplace(name, std::move(array));
  }
  return outputs;
}

} // namespace

std::optional<Failure> weft::test::checkProgram(const Program &program,
                                                const Setting &setting) {
  Arrays inputs;
  for (const Port &port : program.arguments)
    inputs.emplace("a" + std::to_string(port.value),
                   randomArray(program.values[port.value],
                               setting.seed + 1000003 * static_cast<uint64_t>(
                                                            port.value + 1)));

  Arrays outputs[2];
  const std::string sources[2] = {program.print(), program.printForOneDevice()};
  const std::string targets[2] = {setting.target, "cpu"};
  for (int i = 0; i < 2; ++i) {
    const std::string which = i == 0 ? "sharded: " : "on one device: ";
    std::string plan, diagnostics;
    if (!compileProgram(sources[i], targets[i], setting.optimizeShardings, plan,
                        diagnostics))
      return Failure{Failure::Compile, which + diagnostics};
    runtime::Result<Arrays> run = runPlan(plan, inputs, program);
    if (!run.ok())
      return Failure{Failure::Run, which + run.status().toString()};
    outputs[i] = std::move(*run);
  }
  for (const Port &port : program.results) {
    const std::string name = "r" + std::to_string(port.value);
    if (auto text = difference(program.values[port.value], outputs[0][name],
                               outputs[1][name]))
      return Failure{Failure::Difference, "result " + name + ": " + *text};
  }
  return std::nullopt;
}
