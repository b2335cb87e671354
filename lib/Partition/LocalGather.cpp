//===- LocalGather.cpp - Indices into a split dimension -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalGather.h"
#include "LocalForms.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weft;
using sharding::AxisRef;

/// A constant of the integer type of `indices`, in its shape.
static Value createNumber(OpBuilder &builder, Value indices, int64_t number) {
  auto type = cast<RankedTensorType>(indices.getType());
  return arith::ConstantOp::create(
      builder, indices.getLoc(),
      DenseElementsAttr::get(type, Attribute(builder.getIntegerAttr(
                                       type.getElementType(), number))));
}

/// Counts from the first element of the own part of `size`.
static Value countFromPart(OpBuilder &builder, Value indices, int64_t size,
                           ArrayRef<AxisRef> axes, const MeshContext &context) {
  auto type = cast<RankedTensorType>(indices.getType());
  Location loc = indices.getLoc();
  Value offset =
      createOffset(builder, loc, type.getElementType(), size, axes, context);
  Value offsets =
      BroadcastOp::create(builder, loc, type, offset, ArrayRef<int64_t>());
  return arith::SubIOp::create(builder, loc, indices, offsets);
}

/// Repeats what is known for each index along the other dimensions of `shape`.
/// Index dimension `i` is dimension `dims[i]`.
static Value spreadOverTaken(OpBuilder &builder, Value perIndex,
                             ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) {
  Location loc = perIndex.getLoc();
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  llvm::sort(order, [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
  SmallVector<int64_t> places(dims);
  llvm::sort(places);
  if (!llvm::is_sorted(dims))
    perIndex = TransposeOp::create(builder, loc, perIndex, order);
  auto type = cast<RankedTensorType>(perIndex.getType()).clone(shape);
  return BroadcastOp::create(builder, loc, type, perIndex, places);
}

/// The index is clamped to the whole dimension before it is made local, so that
/// exactly one device has the element.
Value weft::localizeGather(GatherOp op, RankedTensorType local,
                           RankedTensorType global, ArrayRef<AxisRef> axes,
                           const MeshContext &context) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t size = op.getOperand().getType().getDimSize(op.getDim());
  Value indices = op.getIndices();
  indices = arith::MaxSIOp::create(builder, loc, indices,
                                   createNumber(builder, indices, 0));
  indices = arith::MinSIOp::create(
      builder, loc, indices,
      createNumber(builder, indices, global.getDimSize(op.getDim()) - 1));
  indices = countFromPart(builder, indices, size, axes, context);
  // An index before the part is, as an unsigned number, behind it.
  Value isHere =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, indices,
                            createNumber(builder, indices, size));
  Value taken =
      GatherOp::create(builder, loc, op.getOperand(), indices, op.getDim(),
                       op.getOperandBatching(), op.getIndicesBatching());
  isHere = spreadOverTaken(builder, isHere,
                           op.getGatherDims().getTakenDimsOfIndices(),
                           local.getShape());
  Value nothing =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(local));
  Value term = arith::SelectOp::create(builder, loc, isHere, taken, nothing);
  op.getResult().replaceAllUsesWith(term);
  op.erase();
  return term;
}

/// An index so far below zero that the difference wraps around ends behind the
/// whole dimension: its size is one that the type of the indices can name.
void weft::localizeScatterAddIndices(ScatterAddOp op, RankedTensorType local,
                                     ArrayRef<AxisRef> axes,
                                     const MeshContext &context) {
  OpBuilder builder(op);
  Value indices = countFromPart(builder, op.getIndices(),
                                local.getDimSize(op.getDim()), axes, context);
  op.getIndicesMutable().assign(indices);
}
