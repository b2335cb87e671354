//===- LocalGather.cpp - Indices into a split dimension -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the indexed dimension of a gather or scatter_add is split, a device
// counts from the first element of its part, and the elements of other parts
// are none of its business. A slice along a split dimension is a gather at
// indices that are known.
//
//===----------------------------------------------------------------------===//

#include "LocalMoves.h"

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
  SmallVector<int64_t> positions(dims);
  llvm::sort(positions);
  if (!llvm::is_sorted(dims))
    perIndex = TransposeOp::create(builder, loc, perIndex, order);
  auto type = cast<RankedTensorType>(perIndex.getType()).clone(shape);
  return BroadcastOp::create(builder, loc, type, perIndex, positions);
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

/// The indices of a slice along one dimension: `start`, `start + stride`, ...
/// `size` is that of the dimension before it was split: the first indices of
/// parts must fit the type as well.
static Value createPositions(OpBuilder &builder, Location loc, int64_t start,
                             int64_t stride, int64_t count, int64_t size) {
  int64_t end = start + stride * count;
  auto type =
      RankedTensorType::get({count}, integerFor(builder, std::max(end, size)));
  Value positions = IotaOp::create(builder, loc, type, 0);
  if (stride != 1)
    positions = arith::MulIOp::create(builder, loc, positions,
                                      createNumber(builder, positions, stride));
  if (start != 0)
    positions = arith::AddIOp::create(builder, loc, positions,
                                      createNumber(builder, positions, start));
  return positions;
}

/// Limits a slice to the part where it takes a dimension whole.
static void limitToPart(SliceOp op, RankedTensorType local) {
  SmallVector<int64_t> limits(op.getLimits());
  for (auto [dim, limit] : llvm::enumerate(limits))
    if (local.getDimSize(dim) != op.getType().getDimSize(dim))
      limit = op.getOperand().getType().getDimSize(dim);
  op.setLimits(limits);
}

/// A slice of the part. `split` lists the axes of each dimension which is
/// neither whole nor taken whole: along those of `moves` that the result splits
/// alike elements are exchanged; of the others the result has zeros for what
/// other devices hold, and is a term of the sum over the axes. Dimensions that
/// are not split are cut first: less is sent and looked up.
static Value sliceOfPart(SliceOp op, RankedTensorType global,
                         ArrayRef<sharding::AxisList> split,
                         ArrayRef<ElementMove> moves, const LocalForm &form) {
  const MeshContext &context = form.context;
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
  for (const ElementMove &move : moves)
    if (sharding::AxisList axes = movedAxes(form, move); !axes.empty())
      value = exchangeSlice(builder, op, value, move, axes, context);
  for (int64_t dim = 0; dim < global.getRank(); ++dim) {
    if (split[dim].empty() || !form.axesOfResult(dim).empty())
      continue;
    Value positions = createPositions(
        builder, loc, op.getStarts()[dim], op.getStrides()[dim],
        wanted.getDimSize(dim), held[dim] * numShards(split[dim]));
    GatherDims dims{dim, global.getRank(), /*indicesRank=*/1, {}, {}};
    value = takeFromPart(builder, value, positions, dims, split[dim], context);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {

/// What each device has is a term of a sum. The index is clamped to the whole
/// dimension before it is made local, so that exactly one device has the
/// element.
struct LocalGather
    : LocalFormOpInterface::ExternalModel<LocalGather, GatherOp> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    auto gather = cast<GatherOp>(op);
    int64_t dim = gather.getDim();
    sharding::AxisList axes = form.axesOfOperand(0, dim);
    if (axes.empty())
      return setTypes(op, form.types);
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Value indices = gather.getIndices();
    indices = arith::MaxSIOp::create(builder, loc, indices,
                                     createNumber(builder, indices, 0));
    indices = arith::MinSIOp::create(
        builder, loc, indices,
        createNumber(builder, indices,
                     form.globalTypes[0].getDimSize(dim) - 1));
    return replaceResult(op, takeFromPart(builder, gather.getOperand(), indices,
                                          gather.getGatherDims(), axes,
                                          form.context));
  }
};

/// Counts from the first element of the part: what belongs to others is out of
/// range. An index so far below zero that the difference wraps around ends
/// behind the whole dimension: its size is one that the type of the indices can
/// name.
struct LocalScatterAdd
    : LocalFormOpInterface::ExternalModel<LocalScatterAdd, ScatterAddOp> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    auto scatter = cast<ScatterAddOp>(op);
    int64_t dim = scatter.getDim();
    if (sharding::AxisList axes = form.axesOfResult(dim); !axes.empty()) {
      OpBuilder builder(op);
      scatter.getIndicesMutable().assign(
          countFromPart(builder, scatter.getIndices(),
                        form.types[0].getDimSize(dim), axes, form.context));
    }
    return setTypes(op, form.types);
  }
};

struct LocalSlice : LocalFormOpInterface::ExternalModel<LocalSlice, SliceOp> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    auto slice = cast<SliceOp>(op);
    RankedTensorType global = form.globalTypes[0];
    // Along dimensions that it does not take whole.
    SmallVector<sharding::AxisList> split(global.getRank());
    for (auto [dim, axes] : llvm::enumerate(split))
      if (global.getDimSize(dim) != slice.getType().getDimSize(dim))
        axes = form.axesOfOperand(0, dim);
    SmallVector<ElementMove, 1> moves = findMoves(op, form.globalTypes);
    if (moves.size() == 1)
      if (sharding::AxisList axes = movedAxes(form, moves.front());
          !axes.empty()) {
        OpBuilder builder(op);
        return replaceResult(op,
                             exchangeSlices(builder, slice, global,
                                            moves.front(), axes, form.context));
      }
    if (llvm::any_of(split, [](auto &axes) { return !axes.empty(); }))
      return replaceResult(op, sliceOfPart(slice, global, split, moves, form));
    limitToPart(slice, form.types[0]);
    return setTypes(op, form.types);
  }
};

} // namespace

void weft::attachLocalGather(MLIRContext &context) {
  GatherOp::attachInterface<LocalGather>(context);
  ScatterAddOp::attachInterface<LocalScatterAdd>(context);
  SliceOp::attachInterface<LocalSlice>(context);
}
