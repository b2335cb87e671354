//===- GenerateElementwise.cpp - Ops on single elements -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramGenerator.h"

#include <algorithm>
#include <cmath>

using namespace weft;
using namespace weft::sharding;
using namespace weft::test;

int ProgramGenerator::addUnary(const std::string &op, int x, Value result) {
  return add({.op = op, .operands = {x}}, std::move(result));
}

int ProgramGenerator::addBinary(const std::string &op, int x, int y) {
  const Value &a = value(x), &b = value(y);
  Value result = a;
  if (isFloat(a.element)) {
    const bool isSelection = op == "arith.maximumf" || op == "arith.minimumf";
    const bool isProduct = op == "arith.mulf";
    result.magnitude = isSelection ? std::max(a.magnitude, b.magnitude)
                       : isProduct ? a.magnitude * b.magnitude
                                   : a.magnitude + b.magnitude;
    result.error = isSelection ? std::max(a.error, b.error)
                   : isProduct ? a.magnitude * b.error + b.magnitude * a.error
                               : a.error + b.error;
    if (!isSelection)
      result.error += rounding(a.element, result.magnitude);
  }
  return add({.op = op, .operands = {x, y}}, std::move(result));
}

void ProgramGenerator::addElementwise(int x) {
  static const std::vector<std::string> floats = {
      "arith.addf", "arith.subf",     "arith.mulf",
      "arith.mulf", "arith.maximumf", "arith.minimumf"};
  static const std::vector<std::string> integers = {
      "arith.addi", "arith.muli",  "arith.xori",
      "arith.andi", "arith.maxsi", "arith.minui"};
  if (value(x).element == Element::I1)
    return addPredicateUse(x);
  addBinary(random.pick(isFloat(value(x).element) ? floats : integers), x,
            partner(x));
}

void ProgramGenerator::addFunction(int x) {
  const Value a = value(x);
  if (a.element != Element::F32)
    return;
  const double noise = 16 * rounding(a.element, 1);
  const auto with = [&](double magnitude, double error) {
    return Value{a.shape, a.element, magnitude, error};
  };
  switch (random.below(8)) {
  case 0:
    addUnary("math.tanh", x, with(1, a.error + noise));
    return;
  case 3:
    addUnary(random.oneIn(2) ? "math.sin" : "math.cos", x,
             with(1, a.error + noise));
    return;
  case 4:
    addUnary("math.erf", x, with(1, 2 * a.error + noise));
    return;
  case 1:
    if (a.magnitude <= 4)
      addUnary("math.exp", x,
               with(std::exp(a.magnitude),
                    std::exp(a.magnitude) * (2 * a.error + noise)));
    return;
  case 2:
    addUnary("arith.negf", x, a);
    return;
  default:
    break;
  }
  const int positive = addUnary("math.absf", x, a);
  const int one = constant(a.element, "1.0", 1);
  const int ones = one < 0 ? -1 : broadcastTo(one, a.shape);
  const int base =
      positive < 0 || ones < 0 ? -1 : addBinary("arith.addf", positive, ones);
  if (base < 0)
    return;
  const Value b = value(base);
  if (random.oneIn(3))
    addUnary("math.log", base,
             with(std::log(b.magnitude), b.error + 16 * noise));
  else if (random.oneIn(2))
    addUnary(random.oneIn(2) ? "math.rsqrt" : "math.sqrt", base,
             with(std::sqrt(b.magnitude), b.error + noise * b.magnitude));
  else
    add({.op = "arith.divf", .operands = {x, base}},
        with(a.magnitude,
             a.error + a.magnitude * b.error + noise * a.magnitude));
}

void ProgramGenerator::addConversion(int x) {
  const auto cast = [&](const char *op, Element to, double magnitude) {
    Value result = value(x);
    result.element = to;
    result.magnitude = magnitude;
    if (!result.isExact())
      result.error += rounding(to, magnitude);
    add({.op = op, .operands = {x}, .style = TypeStyle::Cast}, result);
  };
  const double magnitude = value(x).magnitude;
  switch (value(x).element) {
  case Element::F32:
    if (random.oneIn(3))
      return cast("arith.truncf", Element::F16, magnitude);
    return random.oneIn(2) ? cast("arith.truncf", Element::BF16, magnitude)
                           : cast("arith.extf", Element::F64, magnitude);
  case Element::BF16:
  case Element::F16:
    return cast("arith.extf", Element::F32, magnitude);
  case Element::F64:
    return cast("arith.truncf", Element::F32, magnitude);
  case Element::I32:
    return random.oneIn(2)
               ? cast("arith.extui", Element::I64, 1)
               : cast("arith.trunci",
                      random.oneIn(2) ? Element::I8 : Element::I16, 1);
  case Element::I64:
    return cast("arith.trunci", Element::I32, 1);
  case Element::I16:
  case Element::I8:
    return cast(random.oneIn(2) ? "arith.extsi" : "arith.extui", Element::I32,
                1);
  case Element::I1:
    return cast("arith.uitofp", Element::F32, 1);
  }
}

void ProgramGenerator::addIntegerToFloat(int x) {
  if (value(x).element != Element::I32)
    return;
  const int mask = constant(Element::I32, "63", 1);
  const int masks = mask < 0 ? -1 : broadcastTo(mask, shape(x));
  const int small = masks < 0 ? -1 : addBinary("arith.andi", x, masks);
  if (small >= 0)
    add({.op = random.oneIn(2) ? "arith.sitofp" : "arith.uitofp",
         .operands = {small},
         .style = TypeStyle::Cast},
        {value(x).shape, Element::F32, 63, 0});
}

void ProgramGenerator::addShift(int x) {
  if (value(x).element != Element::I32)
    return;
  const int amount =
      constant(Element::I32, std::to_string(random.below(32)), 1);
  const int amounts = amount < 0 ? -1 : broadcastTo(amount, shape(x));
  if (amounts >= 0)
    addBinary("arith.shrui", x, amounts);
}

void ProgramGenerator::addComparison(int x) {
  static const std::vector<std::string> integers = {"eq",  "ne",  "slt",
                                                    "sle", "ult", "uge"};
  static const std::vector<std::string> floats = {"oeq", "olt", "oge", "une"};
  const int y = partner(x);
  if (!value(x).isExact() || !value(y).isExact() ||
      value(x).element == Element::I1)
    return;
  const bool isFloats = isFloat(value(x).element);
  const int predicate =
      add({.op = (isFloats ? "arith.cmpf " + random.pick(floats)
                           : "arith.cmpi " + random.pick(integers)) +
                 ",",
           .operands = {x, y},
           .style = TypeStyle::Operand},
          {value(x).shape, Element::I1, 1, 0});
  if (predicate >= 0)
    addPredicateUse(predicate);
}

void ProgramGenerator::addPredicateUse(int predicate) {
  std::vector<int> fitting;
  for (size_t i = 0; i < program.values.size(); ++i)
    if (value(i).shape == value(predicate).shape &&
        value(i).element != Element::I1)
      fitting.push_back(static_cast<int>(i));
  if (fitting.empty())
    return addConversion(predicate);
  const int x = random.pick(fitting), y = partner(x);
  Value result = value(x);
  result.magnitude = std::max(value(x).magnitude, value(y).magnitude);
  result.error = std::max(value(x).error, value(y).error);
  add({.op = "arith.select",
       .operands = {predicate, x, y},
       .style = TypeStyle::Select},
      std::move(result));
}
