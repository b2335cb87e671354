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

/// What a gather at `indices`, all within the whole dimension, takes from the
/// own part, and zeros for what it does not have.
static Value takeFromPart(OpBuilder &builder, Value part, Value indices,
                          const GatherDims &dims, ArrayRef<AxisRef> axes,
                          const MeshContext &context) {
  Location loc = indices.getLoc();
  int64_t size = cast<RankedTensorType>(part.getType()).getDimSize(dims.dim);
  indices = countFromPart(builder, indices, size, axes, context);
  // An index before the part is, as an unsigned number, behind it.
  Value isHere =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, indices,
                            createNumber(builder, indices, size));
  auto taken = GatherOp::create(builder, loc, part, indices, dims.dim,
                                dims.tableBatching, dims.indicesBatching);
  isHere = spreadOverTaken(builder, isHere, dims.getTakenDimsOfIndices(),
                           taken.getType().getShape());
  Value nothing = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(taken.getType()));
  return arith::SelectOp::create(builder, loc, isHere, taken, nothing);
}

static Value replace(Operation *op, Value by) {
  op->getResult(0).replaceAllUsesWith(by);
  op->erase();
  return by;
}

/// The index is clamped to the whole dimension before it is made local, so that
/// exactly one device has the element.
Value weft::localizeGather(GatherOp op, RankedTensorType global,
                           ArrayRef<AxisRef> axes, const MeshContext &context) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value indices = op.getIndices();
  indices = arith::MaxSIOp::create(builder, loc, indices,
                                   createNumber(builder, indices, 0));
  indices = arith::MinSIOp::create(
      builder, loc, indices,
      createNumber(builder, indices, global.getDimSize(op.getDim()) - 1));
  return replace(op, takeFromPart(builder, op.getOperand(), indices,
                                  op.getGatherDims(), axes, context));
}

/// The places of a slice along one dimension: `start`, `start + stride`, ...
/// `size` is that of the dimension before it was split: the first places of
/// parts must fit the type as well.
static Value createPlaces(OpBuilder &builder, Location loc, int64_t start,
                          int64_t stride, int64_t count, int64_t size) {
  int64_t end = start + stride * count;
  auto type =
      RankedTensorType::get({count}, integerFor(builder, std::max(end, size)));
  Value places = IotaOp::create(builder, loc, type, 0);
  if (stride != 1)
    places = arith::MulIOp::create(builder, loc, places,
                                   createNumber(builder, places, stride));
  if (start != 0)
    places = arith::AddIOp::create(builder, loc, places,
                                   createNumber(builder, places, start));
  return places;
}

/// The other dimensions are cut first: less is looked up.
Value weft::localizeSplitSlice(SliceOp op, RankedTensorType global,
                               ArrayRef<sharding::AxisList> split,
                               const MeshContext &context) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value value = op.getOperand();
  ArrayRef<int64_t> held = op.getOperand().getType().getShape();
  RankedTensorType wanted = op.getType();
  SmallVector<int64_t> starts(op.getStarts()), limits(op.getLimits()),
      strides(op.getStrides());
  for (int64_t dim = 0; dim < global.getRank(); ++dim)
    if (!split[dim].empty() || wanted.getDimSize(dim) == global.getDimSize(dim))
      std::tie(starts[dim], limits[dim], strides[dim]) =
          std::tuple(int64_t(0), held[dim], int64_t(1));
  auto cut = SliceOp::create(builder, loc, value, starts, limits, strides);
  if (cut.getType() == value.getType())
    cut.erase();
  else
    value = cut;
  for (int64_t dim = 0; dim < global.getRank(); ++dim) {
    if (split[dim].empty())
      continue;
    Value places =
        createPlaces(builder, loc, op.getStarts()[dim], op.getStrides()[dim],
                     wanted.getDimSize(dim), held[dim] * numShards(split[dim]));
    GatherDims dims{dim, global.getRank(), /*indicesRank=*/1, {}, {}};
    value = takeFromPart(builder, value, places, dims, split[dim], context);
  }
  return replace(op, value);
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
