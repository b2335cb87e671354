//===- LaneOps.cpp - Scalar operations on lanes ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneOps.h"
#include "ExpandConversion.h"
#include "ExpandHalf.h"
#include "ExpandInteger.h"
#include "ExpandMath.h"
#include "MathCalls.h"

#include "weft/IR/NarrowFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weft;

static bool isSupportedType(Type type) {
  return type.isF32() || type.isF64() || isNarrowFloat(type) ||
         type.isIndex() || type.isInteger(1) || type.isInteger(8) ||
         type.isInteger(16) || type.isInteger(32) || type.isInteger(64);
}

LogicalResult LaneOps::check(Operation *op) {
  for (Type type :
       llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (!isSupportedType(getElementTypeOrSelf(type)))
      return op->emitOpError("has the type ")
             << type
             << ", but kernels compute in f32, f64, bf16, f16, i1, i8, i16, "
                "i32 and i64 only";
  if (op->getNumResults() == 0 || op->getNumRegions() != 0 ||
      !isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
          op->getDialect()))
    return op->emitOpError("is not an element-wise operation that kernels can "
                           "contain; expected one of arith or math");
  if (isa<arith::ScalingExtFOp, arith::ScalingTruncFOp>(op))
    return op->emitOpError("has no machine instructions; kernels contain all "
                           "other ops of arith and math");
  if (auto truncation = dyn_cast<arith::TruncFOp>(op);
      truncation && truncation.getRoundingmode().value_or(
                        arith::RoundingMode::to_nearest_even) !=
                        arith::RoundingMode::to_nearest_even)
    return op->emitOpError("rounds ")
           << arith::stringifyRoundingMode(*truncation.getRoundingmode())
           << ", but kernels round to_nearest_even only";
  return success();
}

Value LaneOps::spread(Value value) {
  if (isLanes(value))
    return value;
  return vector::BroadcastOp::create(b, loc, shaped(value.getType(), true),
                                     value);
}

Type LaneOps::carrier(Type element) {
  MLIRContext *context = element.getContext();
  if (element.isIndex())
    return IntegerType::get(context, 64);
  return isNarrowFloat(element) ? IntegerType::get(context, 16) : element;
}

TypedAttr LaneOps::carry(TypedAttr value) {
  if (value.getType().isIndex())
    return IntegerAttr::get(carrier(value.getType()),
                            cast<IntegerAttr>(value).getInt());
  if (isNarrowFloat(value.getType()))
    return IntegerAttr::get(carrier(value.getType()),
                            cast<FloatAttr>(value).getValue().bitcastToAPInt());
  return value;
}

Value LaneOps::constant(TypedAttr value, bool lanes) {
  value = carry(value);
  if (lanes)
    value = DenseElementsAttr::get(
        cast<ShapedType>(shaped(value.getType(), true)), Attribute(value));
  return arith::ConstantOp::create(b, loc, value);
}

Value LaneOps::i64(int64_t value) {
  return constant(b.getI64IntegerAttr(value));
}

Value LaneOps::laneNumbers() {
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, width));
  return arith::ConstantOp::create(b, loc, b.getI64VectorAttr(numbers));
}

Value LaneOps::select(Value mask, Value x, Value y) {
  if (!mask)
    return x;
  if (isLanes(mask) || isLanes(x) || isLanes(y)) {
    mask = spread(mask);
    x = spread(x);
    y = spread(y);
  }
  return arith::SelectOp::create(b, loc, mask, x, y);
}

/// A register has two of them: one instruction for each, where taking the
/// register apart is another for two.
Value LaneOps::extendBf16Pairs(Value value) {
  auto pairs = VectorType::get({width / 2}, b.getI32Type());
  auto all = [&](int32_t bits) -> Value {
    Attribute word = b.getI32IntegerAttr(bits);
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(pairs, word));
  };
  Value both = vector::BitCastOp::create(b, loc, pairs, value);
  Value low = arith::ShLIOp::create(b, loc, both, all(16));
  Value high = arith::AndIOp::create(b, loc, both, all(~0xffff));
  SmallVector<int64_t> order;
  for (int64_t pair = 0; pair < width / 2; ++pair)
    order.append({pair, pair + width / 2});
  Value wide = vector::ShuffleOp::create(b, loc, low, high, order);
  return arith::BitcastOp::create(b, loc, shaped(b.getF32Type(), true), wide);
}

/// The high half of an f32 is the bf16.
Value LaneOps::extendBf16(Value value) {
  bool lanes = isLanes(value);
  if (lanes && width > 1 && convertsNarrowFloats)
    return extendBf16Pairs(value);
  Value wide =
      arith::ExtUIOp::create(b, loc, shaped(b.getI32Type(), lanes), value);
  Value shift = constant(b.getI32IntegerAttr(16), lanes);
  wide = arith::ShLIOp::create(b, loc, wide, shift);
  return arith::BitcastOp::create(b, loc, shaped(b.getF32Type(), lanes), wide);
}

/// Rounds to nearest, ties to even; a NaN becomes the quiet NaN 0x7fc0 with its
/// sign.
Value LaneOps::truncateToBf16(Value value) {
  bool lanes = isLanes(value);
  auto number = [&](int64_t n) {
    return constant(b.getI32IntegerAttr(n), lanes);
  };
  Value bits =
      arith::BitcastOp::create(b, loc, shaped(b.getI32Type(), lanes), value);
  Value shifted = arith::ShRUIOp::create(b, loc, bits, number(16));
  Value odd = arith::AndIOp::create(b, loc, shifted, number(1));
  Value bump = arith::AddIOp::create(b, loc, odd, number(0x7fff));
  Value sum = arith::AddIOp::create(b, loc, bits, bump);
  Value rounded = arith::ShRUIOp::create(b, loc, sum, number(16));
  Value sign = arith::AndIOp::create(b, loc, shifted, number(0x8000));
  Value nan = arith::OrIOp::create(b, loc, sign, number(0x7fc0));
  Value isNan =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, value, value);
  Value chosen = arith::SelectOp::create(b, loc, isNan, nan, rounded);
  return arith::TruncIOp::create(b, loc, shaped(b.getI16Type(), lanes), chosen);
}

Value LaneOps::widen(Value value, Type element) {
  if (element.isBF16())
    return extendBf16(value);
  if (!convertsNarrowFloats)
    return extendHalf(b, loc, value);
  bool lanes = isLanes(value);
  value = arith::BitcastOp::create(b, loc, shaped(element, lanes), value);
  return arith::ExtFOp::create(b, loc, shaped(b.getF32Type(), lanes), value);
}

Value LaneOps::narrow(Value value, Type element) {
  if (convertsNarrowFloats)
    return narrowByMachine(value, element);
  return element.isBF16() ? truncateToBf16(value)
                          : truncateToHalf(b, loc, value);
}

/// Two numbers by one instruction.
Value LaneOps::narrowByMachine(Value value, Type element) {
  bool lanes = isLanes(value);
  value = arith::TruncFOp::create(b, loc, shaped(element, lanes), value);
  return arith::BitcastOp::create(b, loc, shaped(b.getI16Type(), lanes), value);
}

Value LaneOps::castInteger(Value value, Type element, bool isSigned) {
  unsigned from = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  unsigned to = element.getIntOrFloatBitWidth();
  Type type = shaped(element, isLanes(value));
  if (from == to)
    return value;
  if (to < from)
    return arith::TruncIOp::create(b, loc, type, value);
  if (isSigned)
    return arith::ExtSIOp::create(b, loc, type, value);
  return arith::ExtUIOp::create(b, loc, type, value);
}

/// Flags would let the bits depend on the optimiser.
static void dropFlags(Operation *op) {
  MLIRContext *context = op->getContext();
  if (isa<arith::ArithFastMathInterface>(op))
    op->setAttr("fastmath", arith::FastMathFlagsAttr::get(
                                context, arith::FastMathFlags::none));
  if (isa<arith::ArithIntegerOverflowFlagsInterface>(op))
    op->setAttr("overflowFlags",
                arith::IntegerOverflowFlagsAttr::get(
                    context, arith::IntegerOverflowFlags::none));
  if (isa<arith::TruncFOp>(op))
    op->removeAttr("roundingmode");
}

/// `op` on these operands, with a result of this element type.
Value LaneOps::cloneAt(Operation *op, ValueRange operands, Type element) {
  if (needsMathExpansion(op))
    return calls && MathCalls::isLong(op) ? calls->call(b, op, operands)
                                          : expandMath(b, op, operands);
  if (needsIntegerExpansion(op))
    return expandInteger(b, op, operands[0], operands[1]);
  if (needsConversionExpansion(op))
    return expandConversion(b, op, operands[0], element);
  bool lanes = llvm::any_of(operands, isLanes);
  Operation *copy = op->clone();
  copy->setOperands(operands);
  copy->setLoc(loc);
  copy->getResult(0).setType(shaped(element, lanes));
  dropFlags(copy);
  return b.insert(copy)->getResult(0);
}

Value LaneOps::apply(Operation *op, ValueRange given) {
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op))
    return constant(cast<TypedAttr>(constantOp.getValue()));

  SmallVector<Value> operands(given);
  if (llvm::any_of(operands, isLanes))
    for (Value &operand : operands)
      operand = spread(operand);

  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  Type carried = carrier(element);
  if (isa<arith::IndexCastOp>(op))
    return castInteger(operands[0], carried, /*isSigned=*/true);
  if (isa<arith::IndexCastUIOp>(op))
    return castInteger(operands[0], carried, /*isSigned=*/false);
  // These move bits; everything else on 16-bit floats is computed in f32.
  if (isa<arith::SelectOp>(op))
    return cloneAt(op, operands, carried);
  if (isa<arith::BitcastOp>(op))
    return getElementTypeOrSelf(operands[0].getType()) == carried
               ? operands[0]
               : cloneAt(op, operands, carried);

  for (auto [operand, type] : llvm::zip_equal(operands, op->getOperandTypes()))
    if (Type narrow = getElementTypeOrSelf(type); isNarrowFloat(narrow))
      operand = widen(operand, narrow);
  Type computed = isNarrowFloat(element) ? b.getF32Type() : carried;
  bool changesWidth = isa<arith::ExtFOp, arith::TruncFOp>(op);
  Value result =
      changesWidth && getElementTypeOrSelf(operands[0].getType()) == computed
          ? operands[0]
          : cloneAt(op, operands, computed);
  return isNarrowFloat(element) ? narrow(result, element) : result;
}

SmallVector<Value> LaneOps::applyAll(Operation *op, ValueRange given) {
  if (op->getNumResults() == 1)
    return {apply(op, given)};
  SmallVector<Value> operands(given);
  if (llvm::any_of(operands, isLanes))
    for (Value &operand : operands)
      operand = spread(operand);
  if (!isa<math::SincosOp>(op))
    return expandExtended(b, op, operands[0], operands[1]);
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (!isNarrowFloat(element))
    return expandSincos(b, op->getLoc(), operands[0]);
  SmallVector<Value> results =
      expandSincos(b, op->getLoc(), widen(operands[0], element));
  for (Value &result : results)
    result = narrow(result, element);
  return results;
}

Value LaneOps::reduceLanes(Operation *combiner, Value lanes) {
  for (int64_t half = width / 2; half >= 1; half /= 2) {
    auto low = llvm::to_vector(llvm::seq<int64_t>(0, half));
    auto high = llvm::to_vector(llvm::seq<int64_t>(half, 2 * half));
    Value x = vector::ShuffleOp::create(b, loc, lanes, lanes, low);
    Value y = vector::ShuffleOp::create(b, loc, lanes, lanes, high);
    if (half == 1) {
      x = vector::ExtractOp::create(b, loc, x, 0);
      y = vector::ExtractOp::create(b, loc, y, 0);
      return apply(combiner, {x, y});
    }
    if (needsMathExpansion(combiner)) {
      lanes = expandMath(b, combiner, {x, y});
      continue;
    }
    Operation *copy = combiner->clone();
    copy->setOperands({x, y});
    copy->getResult(0).setType(x.getType());
    dropFlags(copy);
    lanes = b.insert(copy)->getResult(0);
  }
  return lanes;
}
