//===- LocalWindows.cpp - Windows over a split dimension ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device gets what its windows cover of the shards of others, the halo, and
// computes the op on that, without padding. One after the other for several
// dimensions: the halo of the second is one of what the first has brought, with
// the corners. The transpose sends what it has added to elements of others.
//
// What is then left is decomposed, but for convolutions that plans for CPUs
// have an instruction for.
//
//===----------------------------------------------------------------------===//

#include "LocalForms.h"
#include "LocalMoves.h"

#include "weft/IR/NeutralElement.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueName.h"
#include "weft/IR/WindowOps.h"
#include "weft/IR/WindowSplits.h"

using namespace mlir;
using namespace weft;
using sharding::AxisList;
using sharding::ElementMap;
using sharding::HaloExchange;
using sharding::Reduction;

using Dims = SmallVector<int64_t>;

/// A split that the op is computed with.
namespace {
struct ActiveSplit {
  WindowSplit split;
  AxisList axes;
  HaloExchange exchange;
};
} // namespace

static SmallVector<ActiveSplit, 2> findActive(Operation *op,
                                              const LocalForm &form) {
  SmallVector<ActiveSplit, 2> active;
  for (const WindowSplit &split :
       findWindowSplits(op, form.globalTypes, typeOf(op->getResult(0)))) {
    AxisList axes = form.axesOfOperand(0, split.dim);
    if (axes.empty())
      continue;
    active.push_back({split, axes, *split.exchange(numShards(axes))});
  }
  return active;
}

/// The same number in all elements.
static Value createNumber(OpBuilder &builder, Location loc,
                          RankedTensorType type, int64_t number) {
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, Attribute(builder.getIntegerAttr(
                                       type.getElementType(), number))));
}

/// x with zeros before, behind and between the elements of a dimension.
static Value createPad(OpBuilder &builder, Location loc, Value x, int64_t dim,
                       int64_t before, int64_t behind, int64_t between = 0) {
  Dims low(typeOf(x).getRank(), 0), high(low), interior(low);
  low[dim] = before;
  high[dim] = behind;
  interior[dim] = between;
  return builder.createOrFold<PadOp>(
      loc, x, low, high, interior,
      neutralElement(typeOf(x).getElementType(), Reduction::Sum));
}

/// Puts `filling` where windows reach over an end of the whole dimension.
static Value fillEnds(OpBuilder &builder, Location loc, Value value,
                      const ActiveSplit &active, TypedAttr filling,
                      const MeshContext &context) {
  const HaloExchange &exchange = active.exchange;
  int64_t members = numShards(active.axes);
  if (!exchange.reachesOver(members))
    return value;
  RankedTensorType type = typeOf(value);
  IntegerType integer = integerFor(
      builder, exchange.distance * members + exchange.length + exchange.size);
  RankedTensorType counter = type.clone(integer);
  Value position = IotaOp::create(builder, loc, counter, active.split.dim);
  Value offset = createOffset(builder, loc, integer, exchange.distance,
                              active.axes, context);
  if (exchange.first != 0)
    offset = arith::AddIOp::create(
        builder, loc, offset,
        createNumber(builder, loc, typeOf(offset), exchange.first));
  position = arith::AddIOp::create(
      builder, loc, position,
      BroadcastOp::create(builder, loc, counter, offset, ArrayRef<int64_t>()));
  // A position before the first element is, as an unsigned number, behind the
  // last.
  Value isElement =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, position,
                            createNumber(builder, loc, counter, exchange.size));
  Value outside = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, Attribute(filling)));
  return arith::SelectOp::create(builder, loc, isElement, value, outside);
}

/// What the windows of a device cover.
static Value receive(OpBuilder &builder, Operation *op, Value value,
                     const ActiveSplit &active, TypedAttr filling,
                     const MeshContext &context, const std::string &name) {
  Location loc = op->getLoc();
  const HaloExchange &exchange = active.exchange;
  int64_t dim = active.split.dim;
  if (exchange.interior != 0)
    value = createPad(builder, loc, value, dim, 0, exchange.interior,
                      exchange.interior);
  if (exchange.moves())
    value = createExchange(builder, op, value, dim, exchange.map, active.axes,
                           context, "what windows cover of " + name);
  value = createCut(builder, loc, value, dim, exchange.begin, exchange.length);
  return fillEnds(builder, loc, value, active, filling, context);
}

/// Replaces `op` by the decomposition of `local`, its form on a shard, which is
/// erased.
static LocalResults decompose(Operation *op, DecompositionOpInterface local) {
  TensorBuilder builder(op->getLoc(), op);
  Value made = local.decompose(builder).front();
  local->erase();
  return replaceResult(op, made);
}

//===----------------------------------------------------------------------===//
// The transpose
//===----------------------------------------------------------------------===//

/// `value` on the devices at some positions along the axes, else zeros.
static Value keepAt(OpBuilder &builder, Location loc, Value value,
                    arith::CmpIPredicate predicate, int64_t position,
                    const AxisList &axes, const MeshContext &context) {
  Value own =
      createOffset(builder, loc, builder.getI32Type(), 1, axes, context);
  Value is =
      arith::CmpIOp::create(builder, loc, predicate, own,
                            createNumber(builder, loc, typeOf(own), position));
  RankedTensorType type = typeOf(value);
  is = BroadcastOp::create(builder, loc, type.clone(builder.getI1Type()), is,
                           ArrayRef<int64_t>());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return arith::SelectOp::create(builder, loc, is, value, zero);
}

/// `covered`, what is added to all elements that windows cover, on the devices
/// that have the elements.
static Value sendBack(OpBuilder &builder, Operation *op, Value covered,
                      const ActiveSplit &active, const MeshContext &context) {
  Location loc = op->getLoc();
  const HaloExchange &exchange = active.exchange;
  int64_t dim = active.split.dim, members = numShards(active.axes),
          part = exchange.distance, first = exchange.first,
          end = first + exchange.length;
  int64_t before = std::max<int64_t>(-first, 0),
          behind = std::max<int64_t>(end - part, 0);
  Value own = createCut(builder, loc, covered, dim, before,
                        exchange.length - before - behind);
  own = createPad(builder, loc, own, dim, std::max<int64_t>(first, 0),
                  part - std::min(end, part));
  if (before + behind == 0)
    return own;
  // The first segment goes to the member before, the last to the one behind.
  SmallVector<Value, 2> halo;
  ElementMap map;
  if (before != 0) {
    halo.push_back(createCut(builder, loc, covered, dim, 0, before));
    map.from.push_back(before);
    map.runs.push_back({before, 0, (members - 1) * before});
  }
  if (behind != 0) {
    halo.push_back(createCut(builder, loc, covered, dim,
                             exchange.length - behind, behind));
    map.from.push_back(behind);
    map.runs.push_back(
        {before * members, before * members + behind, (members - 1) * behind});
  }
  map.to = map.from;
  Value sent = halo.front();
  if (halo.size() > 1)
    sent = ConcatOp::create(builder, loc, halo, dim);
  Value got = createExchange(builder, op, sent, dim, map, active.axes, context,
                             "what windows add to elements of others");
  auto add = [&](int64_t start, int64_t size, arith::CmpIPredicate predicate,
                 int64_t position, int64_t low) {
    Value piece = createCut(builder, loc, got, dim, start, size);
    piece =
        keepAt(builder, loc, piece, predicate, position, active.axes, context);
    piece = createPad(builder, loc, piece, dim, low, part - low - size);
    own = arith::AddFOp::create(builder, loc, own, piece);
  };
  if (before != 0)
    add(0, before, arith::CmpIPredicate::slt, members - 1, part - before);
  if (behind != 0)
    add(before, behind, arith::CmpIPredicate::sgt, 0, 0);
  return own;
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// The features of lhs are groups, and within these what is contracted.
static int64_t shardsOfGroups(ConvolutionOp op, const LocalForm &form) {
  int64_t last = op.getType().getRank() - 1;
  int64_t shards = numShards(form.axesOfOperand(0, last));
  return op.hasGroupsApart()
             ? shards
             : shards / numShards(form.axesOfOperand(1, last - 1));
}

namespace {

struct LocalConvolution
    : LocalFormOpInterface::ExternalModel<LocalConvolution, ConvolutionOp> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    auto convolution = cast<ConvolutionOp>(op);
    OpBuilder builder(op);
    Value lhs = convolution.getLhs();
    Dims low(convolution.getLow()), high(convolution.getHigh()),
        dilation(convolution.getLhsDilation());
    for (const ActiveSplit &active : findActive(op, form)) {
      TypedAttr zero =
          neutralElement(typeOf(lhs).getElementType(), Reduction::Sum);
      lhs = receive(builder, op, lhs, active, zero, form.context,
                    nameOf(convolution.getLhs()));
      int64_t i = active.split.dim - 1;
      low[i] = active.exchange.low;
      high[i] = active.exchange.high;
      dilation[i] = active.exchange.dilation;
    }
    int64_t groups =
        convolution.getGroups() / shardsOfGroups(convolution, form);
    if (groups == 1 && convolution.hasGroupsApart()) {
      Dims joined(typeOf(lhs).getShape());
      joined.erase(joined.end() - 2);
      lhs = builder.createOrFold<ReshapeOp>(op->getLoc(),
                                            typeOf(lhs).clone(joined), lhs);
    }
    auto local = ConvolutionOp::create(
        builder, op->getLoc(), form.types.front(), lhs, convolution.getRhs(),
        convolution.getStrides(), low, high, dilation,
        convolution.getRhsDilation(), groups);
    if (form.keepsCpuInstructions && local.isCpuInstruction())
      return replaceResult(op, local);
    return decompose(op, local);
  }
};

struct LocalReduceWindow
    : LocalFormOpInterface::ExternalModel<LocalReduceWindow, ReduceWindowOp> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    auto reduce = cast<ReduceWindowOp>(op);
    OpBuilder builder(op);
    Value value = reduce.getOperand();
    Windows windows = windowsOf(reduce);
    for (const ActiveSplit &active : findActive(op, form)) {
      value = receive(
          builder, op, value, active,
          neutralElement(typeOf(value).getElementType(), reduce.getKind()),
          form.context, nameOf(reduce.getOperand()));
      windows.low = windows.high = 0;
    }
    return decompose(op, ReduceWindowOp::create(
                             builder, op->getLoc(), form.types.front(),
                             reduce.getKind(), value, windows.dim, windows.size,
                             windows.stride, windows.dilation, windows.low,
                             windows.high));
  }
};

struct LocalSpreadWindows
    : LocalFormOpInterface::ExternalModel<LocalSpreadWindows, SpreadWindowsOp> {
  LocalResults localize(Operation *op, const LocalForm &form) const {
    auto spread = cast<SpreadWindowsOp>(op);
    SmallVector<ActiveSplit, 2> active = findActive(op, form);
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Windows windows = windowsOf(spread);
    SmallVector<Value, 2> of(spread.getOf());
    RankedTensorType type = form.types.front();
    if (!active.empty()) {
      // As for the maxima, so that both take the same, and no minimum.
      TypedAttr least = neutralElement(type.getElementType(), Reduction::Max);
      if (!of.empty())
        of.front() = receive(builder, op, of.front(), active.front(), least,
                             form.context, nameOf(of.front()));
      Dims shape(type.getShape());
      shape[windows.dim] = active.front().exchange.length;
      type = type.clone(shape);
      windows.low = windows.high = 0;
    }
    auto local = SpreadWindowsOp::create(
        builder, loc, type, spread.getG(), of, windows.dim, windows.size,
        windows.stride, windows.dilation, windows.low, windows.high);
    if (active.empty())
      return decompose(op, local);
    TensorBuilder parts(loc, op);
    Value covered =
        cast<DecompositionOpInterface>(*local).decompose(parts).front();
    local->erase();
    return replaceResult(
        op, sendBack(builder, op, covered, active.front(), form.context));
  }
};

} // namespace

void weft::attachLocalWindows(MLIRContext &context) {
  ConvolutionOp::attachInterface<LocalConvolution>(context);
  ReduceWindowOp::attachInterface<LocalReduceWindow>(context);
  SpreadWindowsOp::attachInterface<LocalSpreadWindows>(context);
}
