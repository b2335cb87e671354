//===- Program.cpp - A graph that a test can print and shrink -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include <set>

using namespace weft;
using namespace weft::test;

const char *weft::test::name(Element element) {
  switch (element) {
  case Element::F32:
    return "f32";
  case Element::BF16:
    return "bf16";
  case Element::F16:
    return "f16";
  case Element::F64:
    return "f64";
  case Element::I32:
    return "i32";
  case Element::I64:
    return "i64";
  case Element::I16:
    return "i16";
  case Element::I8:
    return "i8";
  case Element::I1:
    return "i1";
  }
  return "";
}

bool weft::test::isNarrow(Element element) {
  return element == Element::BF16 || element == Element::F16;
}

bool weft::test::isFloat(Element element) {
  return element == Element::F32 || element == Element::F64 ||
         isNarrow(element);
}

namespace {

/// Writes a program, with or without its shardings.
class Printer {
public:
  Printer(const Program &program, bool sharded)
      : program(program), sharded(sharded), names(program.values.size()) {}

  std::string print() {
    printMesh();
    text += "func.func @main(";
    for (const Port &port : program.arguments) {
      names[port.value] = "%v" + std::to_string(port.value);
      text += (&port == program.arguments.data() ? "" : ",\n    ") +
              names[port.value] + ": " + type(port.value) + ports("a", port);
    }
    text += ")\n    -> (";
    for (const Port &port : program.results)
      text += (&port == program.results.data() ? "" : ",\n        ") +
              type(port.value) + ports("r", port);
    text += ") {\n";
    for (const Step &step : program.steps)
      printStep(step);
    printReturn();
    return std::move(text);
  }

private:
  void printMesh() {
    text += "weft.mesh @mesh = <[";
    for (const sharding::MeshAxis &axis : program.mesh.axes())
      text += (&axis == program.mesh.axes().data() ? "\"" : ", \"") +
              axis.name + "\"=" + std::to_string(sharded ? axis.size : 1);
    text += "]>\n";
  }

  std::string type(int value) const {
    const Value &v = program.values[value];
    std::string result = "tensor<";
    for (int64_t size : v.shape)
      result += std::to_string(size) + "x";
    return result + name(v.element) + ">";
  }

  std::string layout(const sharding::Sharding &sharding) const {
    return "<@mesh, " + sharding::print(program.mesh, sharding) + ">";
  }

  std::string ports(const char *prefix, const Port &port) const {
    std::string result =
        " {weft.name = \"" + (prefix + std::to_string(port.value)) + "\"";
    if (sharded && port.sharding)
      result += ", weft.sharding = #weft.sharding" + layout(*port.sharding);
    return result + "}";
  }

  void printStep(const Step &step) {
    if (step.constraint && !sharded) {
      names[step.result] = names[step.operands[0]];
      return;
    }
    names[step.result] = "%v" + std::to_string(step.result);
    text += "  " + names[step.result] + " = " + step.op;
    for (size_t i = 0; i < step.operands.size(); ++i)
      text += (i == 0                                       ? " "
               : i == 1 && step.op == "weft.spread_windows" ? " of "
                                                            : ", ") +
              names[step.operands[i]];
    if (!step.attributes.empty())
      text += " " + step.attributes;
    if (step.constraint)
      text += " " + layout(*step.constraint);
    text += " : " + types(step) + "\n";
  }

  std::string types(const Step &step) const {
    const std::string result = type(step.result);
    switch (step.style) {
    case TypeStyle::Result:
      return result;
    case TypeStyle::Operand:
      return type(step.operands[0]);
    case TypeStyle::OperandToResult:
      return type(step.operands[0]) + " -> " + result;
    case TypeStyle::Cast:
      return type(step.operands[0]) + " to " + result;
    case TypeStyle::Select:
      return type(step.operands[0]) + ", " + result;
    case TypeStyle::Functional:
      break;
    }
    std::string operands;
    for (int operand : step.operands)
      operands += (operands.empty() ? "" : ", ") + type(operand);
    return "(" + operands + ") -> " + result;
  }

  void printReturn() {
    std::string values, types;
    for (const Port &port : program.results) {
      values += (values.empty() ? "" : ", ") + names[port.value];
      types += (types.empty() ? "" : ", ") + type(port.value);
    }
    text += "  return " + values + " : " + types + "\n}\n";
  }

  const Program &program;
  const bool sharded;
  std::vector<std::string> names;
  std::string text;
};

} // namespace

std::string Program::print() const { return Printer(*this, true).print(); }

std::string Program::printForOneDevice() const {
  return Printer(*this, false).print();
}

void Program::removeUnused() {
  std::set<int> used;
  for (const Port &port : results)
    used.insert(port.value);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    if (used.count(step->result))
      used.insert(step->operands.begin(), step->operands.end());
  std::erase_if(steps,
                [&](const Step &step) { return !used.count(step.result); });
  std::erase_if(arguments,
                [&](const Port &port) { return !used.count(port.value); });
}
