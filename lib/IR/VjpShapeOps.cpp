//===- VjpShapeOps.cpp - Derivatives of ops along dimensions --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops that move elements are linear: their derivative is the op that moves them
// back and sums those that come from one index. g is the cotangent of the
// result.
//
//===----------------------------------------------------------------------===//

#include "weft/IR/VjpBuilder.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weft;
using sharding::Reduction;

using Dims = SmallVector<int64_t>;

//===----------------------------------------------------------------------===//
// Broadcast, reshape, transpose
//===----------------------------------------------------------------------===//

/// Sums over the dimensions along which elements were repeated.
void BroadcastOp::buildVjp(VjpBuilder &b) {
  RankedTensorType operand = getOperand().getType(), result = getType();
  llvm::SmallBitVector repeated(result.getRank(), true);
  for (auto [from, to] : llvm::enumerate(getDims()))
    if (operand.getDimSize(from) == result.getDimSize(to))
      repeated.reset(to);
  Value sum = b.getCotangent();
  if (repeated.any())
    sum = ReduceOp::create(b, Reduction::Sum, sum, Dims(repeated.set_bits()));
  // Dimensions of size 1 that were repeated are gone.
  b.addCotangent(0, b.createOrFold<ReshapeOp>(operand, sum));
}

void ReshapeOp::buildVjp(VjpBuilder &b) {
  b.addCotangent(
      0, b.createOrFold<ReshapeOp>(getOperand().getType(), b.getCotangent()));
}

void TransposeOp::buildVjp(VjpBuilder &b) {
  b.addCotangent(0, b.createOrFold<TransposeOp>(
                        b.getCotangent(), invertPermutationVector(getDims())));
}

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

/// `value`, which has the shape of the result, repeated to that of the operand.
static Value spread(ReduceOp op, Value value, VjpBuilder &b) {
  RankedTensorType operand = op.getOperand().getType();
  auto element = cast<RankedTensorType>(value.getType()).getElementType();
  Dims kept;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim)
    if (!llvm::is_contained(op.getDims(), dim))
      kept.push_back(dim);
  RankedTensorType type = operand.clone(element);
  // So that no product with the derivative of the loss by itself is left.
  if (SplatElementsAttr splat; matchPattern(value, m_Constant(&splat)))
    return arith::ConstantOp::create(b, splat.resizeSplat(type));
  return b.createOrFold<BroadcastOp>(type, value, kept);
}

/// The elements that equal the maximum or minimum share its cotangent.
static Value extremumVjp(ReduceOp op, VjpBuilder &b) {
  Value x = op.getOperand();
  Value isExtremum = b.equal(x, spread(op, op.getResult(), b));
  Value counted = arith::UIToFPOp::create(b, x.getType(), isExtremum);
  Value count = ReduceOp::create(b, Reduction::Sum, counted, op.getDims());
  Value share = b.div(b.getCotangent(), count);
  return b.keepWhere(isExtremum, spread(op, share, b));
}

void ReduceOp::buildVjp(VjpBuilder &b) {
  b.addCotangent(0, getKind() == Reduction::Sum
                        ? spread(*this, b.getCotangent(), b)
                        : extremumVjp(*this, b));
}

//===----------------------------------------------------------------------===//
// Concat
//===----------------------------------------------------------------------===//

/// Each operand's part of g.
void ConcatOp::buildVjp(VjpBuilder &b) {
  int64_t dim = getDim(), begin = 0;
  Dims starts(getType().getRank(), 0), limits(getType().getShape());
  Dims strides(getType().getRank(), 1);
  for (auto [number, operand] : llvm::enumerate(getOperands())) {
    int64_t end =
        begin + cast<RankedTensorType>(operand.getType()).getDimSize(dim);
    starts[dim] = begin;
    limits[dim] = end;
    if (b.wants(number))
      b.addCotangent(number, SliceOp::create(b, b.getCotangent(), starts,
                                             limits, strides));
    begin = end;
  }
}

//===----------------------------------------------------------------------===//
// Constraint
//===----------------------------------------------------------------------===//

/// g is laid out as the value is. Where the devices hold partial sums of the
/// value, each term needs the whole of g.
void ConstraintOp::buildVjp(VjpBuilder &b) {
  ShardingAttr layout = getSharding();
  layout = ShardingAttr::get(getContext(), layout.getMesh(), layout.getDims(),
                             layout.getReplicated(), {}, Reduction::Sum);
  b.addCotangent(0, ConstraintOp::create(b, b.getCotangent(), layout));
}
