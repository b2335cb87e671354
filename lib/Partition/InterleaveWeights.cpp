//===- InterleaveWeights.cpp - Slices that are where they are used --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a matmul by a weight whose columns are split, slices are taken:
//
//   q, k, v = slices of x @ w
//
// A device makes the columns that it has of w, and needs some of each slice.
// With the columns of w in another order, a block of each slice behind the
// other, its part has what it needs:
//
//   w' = block 0 of the columns of q, of k and of v, block 1 of each, ...
//   q, k, v = blocks of x @ w'
//
// and backward
//
//   dy' = blocks of dq, dk and dv
//   dw  = x^T @ dy', in the order of w
//   dx  = dy' @ w'^T
//
// So rows of the weight are exchanged in place of rows of the batch, of a
// weight in shards those of a shard, and what is computed stays one matmul.
//
//===----------------------------------------------------------------------===//

#include "BlockCandidates.h"
#include "ReshardPrices.h"

#include "weft/IR/ClusterCost.h"
#include "weft/IR/Microbatches.h"
#include "weft/IR/ObservedValues.h"
#include "weft/IR/Origin.h"
#include "weft/IR/StageMesh.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Partition/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>
#include <set>

namespace weft {
#define GEN_PASS_DEF_INTERLEAVEWEIGHTS
#include "weft/Partition/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;
using sharding::AxisList;
using sharding::ElementMap;

namespace {

class Interleaver {
public:
  Interleaver(Block &block, const sharding::Mesh &mesh,
              const cost::CostModel &model)
      : block(block), mesh(mesh),
        cost(model.links().withLatencyShare(combinedShare)),
        microbatches(block), orders(mesh) {}

  void run();

private:
  double runsOf(Value value) const;
  int64_t shardsBeside(ValueDim value) const;
  double secondsToMove(ValueDim value, const ElementMap &map,
                       const AxisList &axesIfWhole) const;
  double secondsToGatherAgain(ValueDim source) const;
  double secondsInBlocks(const BlockCandidate &candidate) const;
  double secondsNow(const BlockCandidate &candidate) const;
  void interleave(ArrayRef<BlockCandidate> all);

  /// `terms` are added up on the way, by ops that nobody observes then.
  Value inBlocks(ValueDim cut, const BlockOrder &order, Operation *user,
                 int64_t &terms);
  void rewriteSlices(const BlockCandidate &sliced);
  void takeInBlocks(OpOperand &use, int64_t dim, Value value,
                    const BlockOrder &order);
  void rewriteConcat(const BlockCandidate &joined);

  Block &block;
  const sharding::Mesh &mesh;
  cost::CollectiveCost cost;
  Microbatches microbatches;
  BlockOrders orders;
  /// Sums that are made in block order, and restored once.
  std::set<std::tuple<const void *, int64_t, BlockOrder>> restored;
  /// Those that take their weight in block order if anything is.
  llvm::SmallPtrSet<Operation *, 16> matmuls;
};

} // namespace

//===----------------------------------------------------------------------===//
// What it costs
//===----------------------------------------------------------------------===//

/// In how many shards the value is along other dimensions.
int64_t Interleaver::shardsBeside(ValueDim cut) const {
  int64_t shards = 1;
  for (int64_t other = 0; other < typeOf(cut.first).getRank(); ++other)
    if (other != cut.second)
      shards *= sharding::numShards(axesOf({cut.first, other}, mesh));
  return shards;
}

double Interleaver::runsOf(Value value) const {
  MicrobatchesAttr loop = microbatches.loopOf(value);
  return loop ? static_cast<double>(loop.getCount()) : 1;
}

/// An exchange of the value, in the shards in which it is. What is whole along
/// the dimension is split for it.
double Interleaver::secondsToMove(ValueDim cut, const ElementMap &map,
                                  const AxisList &axesIfWhole) const {
  AxisList axes = axesOf(cut, mesh);
  if (axes.empty())
    axes = axesIfWhole;
  const int64_t shards = sharding::numShards(axes);
  if (!map.isDivisibleBy(shards))
    return std::numeric_limits<double>::infinity();
  const int64_t perElement = bytesOf(cut.first) /
                             typeOf(cut.first).getDimSize(cut.second) /
                             shardsBeside(cut);
  return runsOf(cut.first) *
         cost.seconds(map.dividedBy(shards).mostSent(shards) * perElement,
                      mesh.span(axes));
}

/// What it costs that a matmul takes a weight in shards as it was: it is
/// gathered in both orders.
double Interleaver::secondsToGatherAgain(ValueDim source) const {
  Value held = BlockOrders::sourceOf(source.first);
  const int64_t shards = shardsBeside({held, source.second});
  if (shards == 1 ||
      llvm::all_of(source.first.getUsers(), [&](Operation *user) {
        return !isa<DotGeneralOp>(user) || matmuls.contains(user);
      }))
    return 0;
  const int64_t bytes =
      bytesOf(held) / sharding::numShards(axesOf({held, source.second}, mesh));
  return runsOf(held) * cost.seconds(bytes - bytes / shards, mesh.numDevices());
}

double Interleaver::secondsInBlocks(const BlockCandidate &candidate) const {
  const ElementMap map = candidate.order.map();
  const AxisList axes = axesOf(candidate.whole, mesh);
  Operation *user = candidate.slices.empty()
                        ? candidate.whole.first.getDefiningOp()
                        : candidate.slices.front();
  double seconds = 0;
  for (const ValueDim &source : candidate.sources)
    if (!orders.has(source, candidate.order, user))
      seconds +=
          secondsToMove({BlockOrders::sourceOf(source.first), source.second},
                        map, axes) +
          secondsToGatherAgain(source);
  for (const ValueDim &sum : candidate.sums)
    if (!restored.contains(
            {sum.first.getAsOpaquePointer(), sum.second, candidate.order}))
      seconds += secondsToMove(sum, map.inverse(), axes);
  return seconds;
}

/// That of the slices, or of what is put together.
double Interleaver::secondsNow(const BlockCandidate &candidate) const {
  const ElementMap map = mapOfSlices(candidate.order.parts);
  return secondsToMove(candidate.whole,
                       candidate.slices.empty() ? map.inverse() : map, {});
}

/// What has one order and one set of sources and sums, as the steps of a
/// recurrence have, is priced together; again once sources are there and sums
/// are restored for others, as for its first step.
void Interleaver::interleave(ArrayRef<BlockCandidate> all) {
  using Key = std::vector<std::pair<const void *, int64_t>>;
  auto keyOf = [](const SetVector<ValueDim> &values) {
    Key key;
    for (auto [value, dim] : values)
      key.push_back({value.getAsOpaquePointer(), dim});
    llvm::sort(key);
    return key;
  };
  std::map<std::tuple<BlockOrder, Key, Key>, size_t> numbers;
  std::vector<SmallVector<const BlockCandidate *>> groups;
  for (const BlockCandidate &each : all) {
    auto [entry, isNew] = numbers.try_emplace(
        {each.order, keyOf(each.sources), keyOf(each.sums)}, groups.size());
    if (isNew)
      groups.emplace_back();
    groups[entry->second].push_back(&each);
  }
  auto rewriteIfBetter = [&](ArrayRef<const BlockCandidate *> group) {
    double now = 0;
    for (const BlockCandidate *each : group)
      now += secondsNow(*each);
    if (!(secondsInBlocks(*group.front()) < now))
      return false;
    for (const BlockCandidate *each : group)
      each->slices.empty() ? rewriteConcat(*each) : rewriteSlices(*each);
    for (auto [sum, dim] : group.front()->sums)
      restored.insert({sum.getAsOpaquePointer(), dim, group.front()->order});
    return true;
  };
  for (size_t left = groups.size() + 1; groups.size() < left;) {
    left = groups.size();
    llvm::erase_if(groups, rewriteIfBetter);
  }
}

//===----------------------------------------------------------------------===//
// Slices of results
//===----------------------------------------------------------------------===//

/// The value in block order, made so where it is made.
Value Interleaver::inBlocks(ValueDim cut, const BlockOrder &order,
                            Operation *user, int64_t &terms) {
  auto [value, dim] = cut;
  Operation *op = value.getDefiningOp();
  if (isSplat(value))
    return value;
  auto matmul = dyn_cast_or_null<DotGeneralOp>(op);
  auto broadcast = dyn_cast_or_null<BroadcastOp>(op);
  if (auto from = matmul ? freeOperandDim(matmul, dim) : std::nullopt) {
    matmul->setOperand(
        from->first,
        orders.get({matmul->getOperand(from->first), from->second}, order, op));
  } else if (broadcast) {
    if (auto from = operandDim(broadcast, dim))
      broadcast->setOperand(
          0, orders.get({broadcast.getOperand(), *from}, order, op));
  } else if (op && computesByElement(op)) {
    for (OpOperand &operand : op->getOpOperands())
      if (!isSplat(operand.get()))
        operand.set(operand.get().hasOneUse()
                        ? inBlocks({operand.get(), dim}, order, op, terms)
                        : orders.get({operand.get(), dim}, order, op));
  } else {
    return orders.get(cut, order, user);
  }
  if (std::optional<NumberedOp> numbered = getNumbered(op))
    terms += numbered->terms;
  forgetNumber(op);
  return value;
}

void Interleaver::rewriteSlices(const BlockCandidate &sliced) {
  const auto &[value, dim] = sliced.whole;
  OpBuilder builder(sliced.slices.front());
  int64_t terms = 0;
  const Value ordered =
      inBlocks(sliced.whole, sliced.order, sliced.slices.front(), terms);
  Value apart = orders.takeApart(builder, value.getLoc(), {ordered, dim},
                                 sliced.order.blocks);
  setOrigin(apart.getDefiningOp(), getOrigin(sliced.slices.front()));
  for (SliceOp slice : sliced.slices) {
    builder.setInsertionPoint(slice);
    SmallVector<int64_t> starts(typeOf(apart).getRank(), 0),
        limits(typeOf(apart).getShape()), strides(starts.size(), 1);
    starts[dim + 1] = slice.getStarts()[dim] / sliced.order.blocks;
    limits[dim + 1] = slice.getLimits()[dim] / sliced.order.blocks;
    Value part = SliceOp::create(builder, slice.getLoc(), apart, starts, limits,
                                 strides);
    if (ShardingAttr sharding = getSharding(apart))
      setSharding(part, sharding);
    setOrigin(part.getDefiningOp(), getOrigin(slice));
    Value taken =
        BlockOrders::putTogether(builder, slice.getLoc(), {part, dim});
    taken.getDefiningOp()->setDiscardableAttrs(
        slice->getDiscardableAttrDictionary());
    if (std::optional<NumberedOp> numbered = getNumbered(slice);
        numbered && terms > 0) {
      numbered->kind = ObservedKind::Sum;
      numbered->terms += terms;
      setNumbered(taken.getDefiningOp(), *numbered);
    }
    slice.replaceAllUsesWith(taken);
  }
}

//===----------------------------------------------------------------------===//
// Users of concatenations
//===----------------------------------------------------------------------===//

/// `dim`: of the operand.
void Interleaver::takeInBlocks(OpOperand &use, int64_t dim, Value value,
                               const BlockOrder &order) {
  Operation *user = use.getOwner();
  if (auto matmul = dyn_cast<DotGeneralOp>(user)) {
    const unsigned number = use.getOperandNumber();
    if (int64_t other = contractedWith(matmul, number, dim); other >= 0) {
      matmul->setOperand(
          1 - number,
          orders.get({matmul->getOperand(1 - number), other}, order, user));
    } else {
      orders.restore(user, resultDimOf(matmul, number, dim), order);
    }
  } else if (auto reduce = dyn_cast<ReduceOp>(user)) {
    orders.restore(user, keptDim(reduce, dim), order);
  } else {
    forgetNumber(user);
    for (OpOperand &next :
         llvm::make_early_inc_range(user->getResult(0).getUses()))
      takeInBlocks(next, dim, user->getResult(0), order);
  }
  use.set(value);
}

void Interleaver::rewriteConcat(const BlockCandidate &joined) {
  auto op = joined.whole.first.getDefiningOp<ConcatOp>();
  const auto dim = static_cast<int64_t>(op.getDim());
  OpBuilder builder(op);
  const OriginAttr origin = withoutGradient(getOrigin(op));
  SmallVector<Value> parts;
  for (Value operand : op.getOperands()) {
    parts.push_back(orders.takeApart(builder, op.getLoc(), {operand, dim},
                                     joined.order.blocks));
    setOrigin(parts.back().getDefiningOp(), origin);
  }
  auto blocks = ConcatOp::create(builder, op.getLoc(), parts, dim + 1);
  setOrigin(blocks, origin);
  Value value =
      BlockOrders::putTogether(builder, op.getLoc(), {blocks.getResult(), dim});
  setOrigin(value.getDefiningOp(), origin);
  if (ShardingAttr sharding = getSharding(op.getResult()))
    setSharding(value, sharding);
  SmallVector<OpOperand *> uses =
      llvm::to_vector(llvm::make_pointer_range(op->getUses()));
  for (OpOperand *use : llvm::reverse(uses))
    takeInBlocks(*use, dim, value, joined.order);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

void Interleaver::run() {
  SetVector<Value> values;
  std::vector<BlockCandidate> sliced, joined;
  for (Operation &op : block) {
    if (auto slice = dyn_cast<SliceOp>(op);
        slice && values.insert(slice.getOperand()))
      if (auto found = findSliced(slice.getOperand(), mesh))
        sliced.push_back(std::move(*found));
    if (auto concat = dyn_cast<ConcatOp>(op))
      if (auto found = findJoined(concat, mesh))
        joined.push_back(std::move(*found));
  }
  for (const auto &found : {std::cref(sliced), std::cref(joined)})
    for (const BlockCandidate &each : found.get())
      matmuls.insert(each.matmuls.begin(), each.matmuls.end());
  // First: weights in block order serve the backward pass as well.
  interleave(sliced);
  interleave(joined);
  if (!sliced.empty() || !joined.empty())
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
}

namespace {
struct InterleaveWeights
    : weft::impl::InterleaveWeightsBase<InterleaveWeights> {
  using InterleaveWeightsBase::InterleaveWeightsBase;

  void runOnInput() override {
    ModuleOp module = getOperation();
    MeshOp meshOp = findMesh(module);
    if (!meshOp)
      return;
    FailureOr<cost::CostModel> model = loadCostModel(module, cluster);
    if (failed(model))
      return signalPassFailure();
    const sharding::Mesh mesh = meshOfStage(meshOp, model->cluster());
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        Interleaver(function.getBody().front(), mesh, *model).run();
  }
};
} // namespace
