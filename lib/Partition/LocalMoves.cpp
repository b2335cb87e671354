//===- LocalMoves.cpp - Elements that change the device -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Along a dimension that the operands and the result of an op split over the
// same axes, elements are exchanged. Slices of one value share an exchange: it
// has a segment for each.
//
//===----------------------------------------------------------------------===//

#include "LocalMoves.h"

#include "Regroupings.h"
#include "ReshardPrices.h"
#include "ReshardReasons.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueName.h"
#include "weft/IR/ValueSharding.h"

using namespace mlir;
using namespace weft;
using sharding::AxisList;
using sharding::ElementMap;
using sharding::ElementRun;

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

Value weft::createExchange(OpBuilder &builder, Operation *op, Value value,
                           int64_t dim, const ElementMap &map,
                           const AxisList &axes, const MeshContext &context,
                           const std::string &what) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  shape[dim] = 0;
  for (int64_t part : map.to)
    shape[dim] += part;
  std::string cause = what + " along dimension " + std::to_string(dim) +
                      ", split over " + context.mesh.print(axes);
  addReason(op->getParentOfType<ModuleOp>(),
            reasonOfSplit(op, context.mesh, axes, cause));
  return ExchangeOp::create(builder, op->getLoc(), typeOf(value).clone(shape),
                            value, dim, context.axes(axes),
                            ElementMapAttr::get(builder.getContext(), map),
                            builder.getStringAttr(cause));
}

static Value exchangeAlong(const ElementMove &move, OpBuilder &builder,
                           Operation *op, Value value, const AxisList &axes,
                           const MeshContext &context,
                           const std::string &what) {
  return createExchange(builder, op, value, move.dim,
                        move.map.dividedBy(numShards(axes)), axes, context,
                        what);
}

/// The elements of a dimension from the last to the first.
static Value createReverse(OpBuilder &builder, Location loc, Value value,
                           int64_t dim) {
  int64_t size = typeOf(value).getDimSize(dim);
  auto indices = RankedTensorType::get({size}, integerFor(builder, size));
  Value up = IotaOp::create(builder, loc, indices, 0);
  Value last = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(
          indices, Attribute(builder.getIntegerAttr(indices.getElementType(),
                                                    size - 1))));
  Value down = arith::SubIOp::create(builder, loc, last, up);
  return GatherOp::create(builder, loc, typeOf(value), value, down, dim,
                          ArrayRef<int64_t>(), ArrayRef<int64_t>());
}

Value weft::createCut(OpBuilder &builder, Location loc, Value value,
                      int64_t dim, int64_t start, int64_t size,
                      int64_t stride) {
  SmallVector<int64_t> starts(typeOf(value).getRank(), 0),
      limits(typeOf(value).getShape()), strides(starts.size(), 1);
  if (start == 0 && stride == 1 && size == limits[dim])
    return value;
  starts[dim] = start;
  limits[dim] = start + (size - 1) * stride + 1;
  strides[dim] = stride;
  return SliceOp::create(builder, loc, value, starts, limits, strides);
}

/// Whether the map takes something to each element of the result.
static bool reachesAll(const ElementMap &map) {
  int64_t elements = 0, reached = 0;
  for (int64_t segment : map.to)
    elements += segment;
  for (const ElementRun &run : map.runs)
    reached += run.length;
  return elements == reached;
}

/// Puts the value of the move where its map takes nothing to. `value` is the
/// part of a dimension split over `axes`.
static Value fillGaps(OpBuilder &builder, Location loc, Value value,
                      const ElementMove &move, ArrayRef<sharding::AxisRef> axes,
                      const MeshContext &context) {
  if (!move.value || reachesAll(move.map))
    return value;
  RankedTensorType type = typeOf(value);
  int64_t part = type.getDimSize(move.dim), size = move.map.to.front();
  RankedTensorType counter = type.clone(integerFor(builder, size));
  auto number = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            counter, Attribute(builder.getIntegerAttr(counter.getElementType(),
                                                      number))));
  };
  Value position = IotaOp::create(builder, loc, counter, move.dim);
  if (!axes.empty()) {
    Value offset = createOffset(builder, loc, counter.getElementType(), part,
                                axes, context);
    position =
        arith::AddIOp::create(builder, loc, position,
                              BroadcastOp::create(builder, loc, counter, offset,
                                                  ArrayRef<int64_t>()));
  }
  Value isReached;
  for (const ElementRun &run : move.map.runs) {
    // A position before the run is, as an unsigned number, behind it.
    Value inRun = run.to == 0 ? position
                              : arith::SubIOp::create(builder, loc, position,
                                                      number(run.to));
    inRun = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                  inRun, number(run.length));
    isReached = isReached ? arith::OrIOp::create(builder, loc, isReached, inRun)
                          : inRun;
  }
  Value filling = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, Attribute(move.value)));
  return arith::SelectOp::create(builder, loc, isReached, value, filling);
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

AxisList weft::movedAxes(const LocalForm &form, const ElementMove &move) {
  AxisList axes = withoutUnitAxes(form.axesOfResult(move.dim));
  for (unsigned operand = 0; operand < form.operands.size(); ++operand)
    if (withoutUnitAxes(form.axesOfOperand(operand, move.dim)) != axes)
      return {};
  return axes;
}

Value weft::exchangeSlice(OpBuilder &builder, Operation *op, Value value,
                          const ElementMove &move, const AxisList &axes,
                          const MeshContext &context) {
  return exchangeAlong(move, builder, op, value, axes, context,
                       "slice of " + nameOf(op->getOperand(0)));
}

/// The part of the slice in what an earlier one has exchanged for all.
static Value takeExchanged(OpBuilder &builder, Operation *op,
                           const ElementMove &move, const AxisList &axes,
                           const MeshContext &context) {
  for (Operation *user : op->getOperand(0).getUsers()) {
    auto exchange = dyn_cast<ExchangeOp>(user);
    if (!exchange || static_cast<int64_t>(exchange.getDim()) != move.dim ||
        exchange.getAxes() != context.axes(axes) ||
        !exchange->isBeforeInBlock(op))
      continue;
    ElementMap map = exchange.getMap().toMap();
    int64_t members = numShards(axes), start = 0;
    for (auto [part, run] : llvm::zip(map.to, map.runs)) {
      ElementRun own = move.map.runs.front();
      own.to += start * members;
      if (run == own && part * members == move.map.to.front())
        return createCut(builder, op->getLoc(), exchange, move.dim, start,
                         part);
      start += part;
    }
  }
  return {};
}

Value weft::exchangeSlices(OpBuilder &builder, Operation *op,
                           RankedTensorType global, const ElementMove &move,
                           const AxisList &axes, const MeshContext &context) {
  Value operand = op->getOperand(0);
  if (Value taken = takeExchanged(builder, op, move, axes, context))
    return taken;
  SmallVector<Operation *> slices;
  for (Operation *slice : findSlices(operand, global, move.dim)) {
    ShardingAttr sharding = getSharding(slice->getResult(0));
    // Those behind the op are still to come, in their global types.
    if (slice == op ||
        (sharding && op->isBeforeInBlock(slice) &&
         withoutUnitAxes(
             sharding.toSharding(context.mesh)->dims[move.dim].axes) == axes))
      slices.push_back(slice);
  }
  exchangeAlong(joinSlices(slices, global), builder, op, operand, axes, context,
                (slices.size() > 1 ? "slices of " : "slice of ") +
                    nameOf(operand));
  return takeExchanged(builder, op, move, axes, context);
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// All operands of an op behind each other.
static Value joinOperands(OpBuilder &builder, Operation *op, int64_t dim) {
  if (op->getNumOperands() == 1)
    return op->getOperand(0);
  return ConcatOp::create(builder, op->getLoc(), op->getOperands(), dim);
}

namespace {

struct LocalConcat
    : LocalFormOpInterface::ExternalModel<LocalConcat, ConcatOp> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    for (const ElementMove &move : findMoves(op, form.globalTypes))
      if (AxisList axes = movedAxes(form, move); !axes.empty()) {
        OpBuilder builder(op);
        return replaceResult(
            op, exchangeAlong(move, builder, op,
                              joinOperands(builder, op, move.dim), axes,
                              form.context, "operands of " + nameOf(op)));
      }
    return setTypes(op, form.types);
  }
};

/// Dimensions that are not exchanged are padded last: more would be sent.
struct LocalPad : LocalFormOpInterface::ExternalModel<LocalPad, PadOp> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    auto pad = cast<PadOp>(op);
    OpBuilder builder(op);
    SmallVector<int64_t> low(pad.getLow()), high(pad.getHigh()),
        interior(pad.getInterior());
    Value value = pad.getOperand();
    for (const ElementMove &move : findMoves(op, form.globalTypes)) {
      AxisList axes = movedAxes(form, move);
      if (axes.empty())
        continue;
      value = exchangeAlong(move, builder, op, value, axes, form.context,
                            "operand of " + nameOf(op));
      value = fillGaps(builder, op->getLoc(), value, move, axes, form.context);
      low[move.dim] = high[move.dim] = 0;
    }
    if (value == pad.getOperand())
      return setTypes(op, form.types);
    return replaceResult(
        op, builder.createOrFold<PadOp>(op->getLoc(), form.types.front(), value,
                                        low, high, interior, pad.getValue()));
  }
};

/// Where the dimension is whole, the op is a concatenation of slices.
struct LocalRearrange
    : LocalFormOpInterface::ExternalModel<LocalRearrange, RearrangeOp> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    ElementMove move = findMoves(op, form.globalTypes).front();
    AxisList axes = movedAxes(form, move);
    if (!axes.empty() && findSlice(op, form.globalTypes.front()))
      return replaceResult(op,
                           exchangeSlices(builder, op, form.globalTypes.front(),
                                          move, axes, form.context));
    Value value = joinOperands(builder, op, move.dim);
    value =
        axes.empty()
            ? rearrangeWhole(builder, loc, value, move.dim, move.map)
            : createExchange(builder, op, value, move.dim,
                             move.map.dividedBy(numShards(axes))
                                 .bySegments(numShards(axes)),
                             axes, form.context, "elements of " + nameOf(op));
    return replaceResult(
        op, fillGaps(builder, loc, value, move, axes, form.context));
  }

  static Value rearrangeWhole(OpBuilder &builder, Location loc, Value value,
                              int64_t dim, ElementMap map) {
    llvm::sort(map.runs, [](const ElementRun &a, const ElementRun &b) {
      return a.to < b.to;
    });
    SmallVector<Value> pieces;
    int64_t end = 0;
    auto addZeros = [&](int64_t until) {
      SmallVector<int64_t> shape(typeOf(value).getShape());
      shape[dim] = until - end;
      if (shape[dim] != 0)
        pieces.push_back(arith::ConstantOp::create(
            builder, loc, builder.getZeroAttr(typeOf(value).clone(shape))));
    };
    for (const ElementRun &run : map.runs) {
      addZeros(run.to);
      int64_t last = run.from + (run.length - 1) * run.step;
      Value piece =
          createCut(builder, loc, value, dim, std::min(run.from, last),
                    run.length, std::abs(run.step));
      pieces.push_back(run.step > 0 ? piece
                                    : createReverse(builder, loc, piece, dim));
      end = run.to + run.length;
    }
    addZeros(map.to.front());
    return pieces.size() == 1
               ? pieces.front()
               : ConcatOp::create(builder, loc, pieces, dim).getResult();
  }
};

/// All dimensions that the elements are of as one, for the exchange.
struct LocalReshape
    : LocalFormOpInterface::ExternalModel<LocalReshape, ReshapeOp> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    const sharding::Mesh &mesh = form.context.mesh;
    std::optional<Regrouping> regrouping =
        findRegrouping(form.globalTypes.front(), typeOf(op->getResult(0)),
                       *form.operands.front().toSharding(mesh),
                       *form.results.front().toSharding(mesh));
    if (!regrouping)
      return setTypes(op, form.types);
    OpBuilder builder(op);
    Location loc = op->getLoc();
    ElementMove move = regrouping->move;
    AxisList axes = form.axesOfOperand(0, move.dim);
    Value value = op->getOperand(0);
    SmallVector<int64_t> shape(typeOf(value).getShape());
    auto [first, end] = move.operandDims();
    for (int64_t dim = first + 1; dim < end; ++dim)
      shape[first] *= shape[dim];
    shape.erase(shape.begin() + first + 1, shape.begin() + end);
    value =
        builder.createOrFold<ReshapeOp>(loc, typeOf(value).clone(shape), value);
    move.dim = first;
    value = exchangeAlong(move, builder, op, value, axes, form.context,
                          "elements of " + nameOf(op));
    return replaceResult(
        op, builder.createOrFold<ReshapeOp>(loc, form.types.front(), value));
  }
};

} // namespace

void weft::attachLocalMoves(MLIRContext &context) {
  ConcatOp::attachInterface<LocalConcat>(context);
  PadOp::attachInterface<LocalPad>(context);
  RearrangeOp::attachInterface<LocalRearrange>(context);
  ReshapeOp::attachInterface<LocalReshape>(context);
}
