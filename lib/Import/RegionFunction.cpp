//===- RegionFunction.cpp - What a region of comparisons computes ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionFunction.h"
#include "Attributes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;

/// -NaN < -inf < ... < -0 < 0 < ... < inf < NaN
static int64_t totalOrder(double x) {
  auto bits = std::bit_cast<int64_t>(x);
  return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}

template <typename T>
static std::optional<double> compareAs(StringRef direction, T x, T y) {
  return llvm::StringSwitch<std::optional<double>>(direction)
      .Case("EQ", x == y)
      .Case("NE", x != y)
      .Case("LT", x < y)
      .Case("LE", x <= y)
      .Case("GT", x > y)
      .Case("GE", x >= y)
      .Default(std::nullopt);
}

static std::optional<double> compare(Operation &op, double x, double y) {
  std::string direction =
      readEnum(op.getAttr("comparison_direction"), "comparison_direction")
          .value_or("");
  if (readEnum(op.getAttr("compare_type"), "comparison_type") == "TOTALORDER")
    return compareAs(direction, totalOrder(x), totalOrder(y));
  return compareAs(direction, x, y);
}

static std::optional<double> valueOf(Operation &constant) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(constant.getAttr("value"));
  if (!dense || !dense.isSplat())
    return std::nullopt;
  Attribute attr = dense.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(attr)) {
    double value = number.getValueAsDouble();
    return value == 0 || std::isnan(value) ? std::optional(value)
                                           : std::nullopt;
  }
  auto number = dyn_cast<IntegerAttr>(attr);
  return number && number.getValue().isZero() ? std::optional(0.0)
                                              : std::nullopt;
}

static std::optional<double> evaluate(Operation &op, ArrayRef<double> x) {
  StringRef name = op.getName().getStringRef();
  bool areBool = llvm::all_of(op.getOperandTypes(), [](Type type) {
    return getElementTypeOrSelf(type).isInteger(1);
  });
  if (name == "stablehlo.constant" && x.empty())
    return valueOf(op);
  if (name == "stablehlo.compare" && x.size() == 2)
    return compare(op, x[0], x[1]);
  if (name == "stablehlo.select" && x.size() == 3)
    return x[0] != 0 ? x[1] : x[2];
  if (!areBool)
    return std::nullopt;
  if (name == "stablehlo.and" && x.size() == 2)
    return x[0] != 0 && x[1] != 0;
  if (name == "stablehlo.or" && x.size() == 2)
    return x[0] != 0 || x[1] != 0;
  if (name == "stablehlo.not" && x.size() == 1)
    return x[0] == 0;
  return std::nullopt;
}

std::optional<SmallVector<double>>
weft::stablehlo::evaluate(Region &region, ArrayRef<double> arguments) {
  if (!llvm::hasSingleElement(region) ||
      region.getNumArguments() != arguments.size())
    return std::nullopt;
  llvm::DenseMap<Value, double> known;
  for (auto [argument, number] :
       llvm::zip_equal(region.getArguments(), arguments))
    known[argument] = number;
  for (Operation &op : region.front()) {
    SmallVector<double> operands;
    for (Value operand : op.getOperands()) {
      auto number = known.find(operand);
      if (number == known.end())
        return std::nullopt;
      operands.push_back(number->second);
    }
    if (op.getName().getStringRef() == "stablehlo.return")
      return operands;
    std::optional<double> result = ::evaluate(op, operands);
    if (!result || op.getNumResults() != 1)
      return std::nullopt;
    known[op.getResult(0)] = *result;
  }
  return std::nullopt;
}

SmallVector<double> weft::stablehlo::samplesOf(Type element) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (isa<FloatType>(element))
    return {-nan, -2, -1, -0.0, 0.0, 1, 2, nan};
  if (element.isInteger(1))
    return {0, 1};
  if (element.isUnsignedInteger())
    return {0, 1, 2, 3};
  return {-2, -1, 0, 1, 2};
}
