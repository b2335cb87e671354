//===- ConvertReductions.cpp - Reductions and their regions ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converters.h"
#include "Reducer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSwitch.h"

#include <limits>

using namespace mlir;
using namespace weft;
using namespace weft::stablehlo;
using sharding::Reduction;

std::optional<Reducer> weft::stablehlo::matchReducer(Operation *op) {
  if (op->getNumRegions() != 1 || !llvm::hasSingleElement(op->getRegion(0)))
    return std::nullopt;
  Block &block = op->getRegion(0).front();
  if (block.getNumArguments() != 2 || block.getOperations().size() != 2)
    return std::nullopt;
  Operation &combine = block.front(), &last = block.back();
  Value a = block.getArgument(0), b = block.getArgument(1);
  bool usesBoth = combine.getNumOperands() == 2 &&
                  ((combine.getOperand(0) == a && combine.getOperand(1) == b) ||
                   (combine.getOperand(0) == b && combine.getOperand(1) == a));
  if (!usesBoth || combine.getNumResults() != 1 ||
      last.getName().getStringRef() != "stablehlo.return" ||
      !llvm::equal(last.getOperands(), combine.getResults()))
    return std::nullopt;
  return llvm::StringSwitch<std::optional<Reducer>>(
             combine.getName().getStringRef())
      .Case("stablehlo.add", Reducer::Add)
      .Case("stablehlo.maximum", Reducer::Max)
      .Case("stablehlo.minimum", Reducer::Min)
      .Case("stablehlo.and", Reducer::And)
      .Case("stablehlo.or", Reducer::Or)
      .Default(std::nullopt);
}

//===----------------------------------------------------------------------===//
// Combination of two values
//===----------------------------------------------------------------------===//

/// What the reducer makes of two values.
static Value combine(Conversion &c, Reducer reducer, Value x, Value y) {
  Type element = typeOf(x).getElementType();
  bool isFloat = isa<FloatType>(element), isUnsigned = c.isUnsigned(0);
  switch (reducer) {
  case Reducer::Add:
    if (element.isInteger(1))
      return c.make<arith::OrIOp>(x, y);
    return isFloat ? c.make<arith::AddFOp>(x, y) : c.make<arith::AddIOp>(x, y);
  case Reducer::Max:
    if (isFloat)
      return c.make<arith::MaximumFOp>(x, y);
    return isUnsigned ? c.make<arith::MaxUIOp>(x, y)
                      : c.make<arith::MaxSIOp>(x, y);
  case Reducer::Min:
    if (isFloat)
      return c.make<arith::MinimumFOp>(x, y);
    return isUnsigned ? c.make<arith::MinUIOp>(x, y)
                      : c.make<arith::MinSIOp>(x, y);
  case Reducer::And:
    return c.make<arith::AndIOp>(x, y);
  case Reducer::Or:
    return c.make<arith::OrIOp>(x, y);
  }
  llvm_unreachable("all reducers are covered");
}

/// Whether combining with `init` changes nothing.
static bool isNeutral(Conversion &c, Reducer reducer, Value init) {
  TypedAttr attr = getSplat(init);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (isa_and_nonnull<FloatAttr>(attr))
    return isFloat(attr, reducer == Reducer::Add   ? 0.0
                         : reducer == Reducer::Max ? -infinity
                                                   : infinity);
  auto integer = dyn_cast_or_null<IntegerAttr>(attr);
  if (!integer)
    return false;
  APInt value = integer.getValue();
  bool isUnsigned = c.isUnsigned(0);
  switch (reducer) {
  case Reducer::Add:
  case Reducer::Or:
    return value.isZero();
  case Reducer::And:
    return value.isAllOnes();
  case Reducer::Max:
    return isUnsigned ? value.isZero() : value.isMinSignedValue();
  case Reducer::Min:
    return isUnsigned ? value.isAllOnes() : value.isMaxSignedValue();
  }
  llvm_unreachable("all reducers are covered");
}

//===----------------------------------------------------------------------===//
// Reduction of a tensor
//===----------------------------------------------------------------------===//

/// Reduces `x` along `dims`, without the initial value.
static Value reduce(Conversion &c, Reducer reducer, Value x,
                    ArrayRef<int64_t> dims) {
  auto along = [&](Value operand, Reduction kind) {
    return c.make<ReduceOp>(c.type().clone(typeOf(operand).getElementType()),
                            kind, operand, dims);
  };
  Type element = typeOf(x).getElementType();
  if (element.isInteger(1)) {
    bool isAny = reducer == Reducer::Or || reducer == Reducer::Max ||
                 reducer == Reducer::Add;
    return along(x, isAny ? Reduction::Max : Reduction::Min);
  }
  if (reducer == Reducer::Add)
    return along(x, Reduction::Sum);
  if (reducer == Reducer::And || reducer == Reducer::Or)
    return c.unsupported("of the bits of integers");
  Reduction kind = reducer == Reducer::Max ? Reduction::Max : Reduction::Min;
  if (isa<FloatType>(element) || !c.isUnsigned(0))
    return along(x, kind);
  // With the first bit flipped, integers without sign are ordered as those
  // with one.
  unsigned width = element.getIntOrFloatBitWidth();
  auto flip = [&](Value value) {
    if (!value)
      return Value();
    Value bit =
        c.splat(typeOf(value), cast<TypedAttr>(c.builder.getIntegerAttr(
                                   element, APInt::getSignMask(width))));
    return c.make<arith::XOrIOp>(value, bit);
  };
  return flip(along(flip(x), kind));
}

static Value convertReduce(Conversion &c) {
  Operation *op = c.getSource();
  if (c.numOperands() != 2 && c.numOperands() % 2 == 0 && c.numOperands() > 0)
    return c.unsupported("of " + Twine(c.numOperands() / 2) +
                         " tensors at once, as of argmax and sort");
  if (!c.hasOperands(2))
    return {};
  Value x = c.operand(0), init = c.operand(1);
  Dims dims = c.integers("dimensions");
  if (c.hasFailed())
    return {};
  llvm::sort(dims);
  if (typeOf(init).getRank() != 0 ||
      typeOf(init).getElementType() != typeOf(x).getElementType())
    return c.malformed("its initial value must be a scalar of the elements' "
                       "type");
  std::optional<Reducer> reducer = matchReducer(op);
  if (!reducer)
    return c.unsupported("with another function than add, maximum, minimum, "
                         "and, or");
  Value result = dims.empty() ? x : reduce(c, *reducer, x, dims);
  if (!result || isNeutral(c, *reducer, init))
    return result;
  return combine(c, *reducer, result,
                 c.broadcastScalar(init, typeOf(result).getShape()));
}

std::vector<Converter> weft::stablehlo::reductionConverters() {
  return {{"stablehlo.reduce", single(convertReduce), {"dimensions"}}};
}
