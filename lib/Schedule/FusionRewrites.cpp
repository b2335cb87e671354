//===- FusionRewrites.cpp - Ops made ready for kernels --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionRewrites.h"

#include "CollectiveParts.h"

#include "weft/IR/NarrowFloats.h"
#include "weft/IR/Origin.h"
#include "weft/IR/WeftOps.h"

#include "weft/Schedule/KernelFusion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;
using namespace weft;

void weft::widenScatterSums(Block &body) {
  for (auto op : llvm::make_early_inc_range(body.getOps<ScatterAddOp>())) {
    if (!isNarrowFloat(op.getType().getElementType()))
      continue;
    OriginListener listener(getOrigin(op));
    OpBuilder b(op, &listener);
    Location loc = op.getLoc();
    auto widen = [&](RankedTensorType type) {
      return type.clone(b.getF32Type());
    };
    Value updates = arith::ExtFOp::create(
        b, loc, widen(op.getUpdates().getType()), op.getUpdates());
    Value sums = ScatterAddOp::create(
        b, loc, widen(op.getType()), updates, op.getIndices(), op.getDim(),
        op.getOperandBatching(), op.getIndicesBatching());
    Value result = arith::TruncFOp::create(b, loc, op.getType(), sums);
    op.getResult().replaceAllUsesWith(result);
    op.erase();
  }
}

void weft::splitConcats(Block &body) {
  for (auto op : llvm::make_early_inc_range(body.getOps<ConcatOp>())) {
    if (isMarkedPart(op))
      continue;
    OriginListener listener(getOrigin(op));
    OpBuilder b(op, &listener);
    SmallVector<Value> pieces(op.getOperands());
    while (pieces.size() > mostPiecesOfKernel) {
      SmallVector<Value> next;
      for (ArrayRef<Value> rest = pieces; !rest.empty();
           rest = rest.drop_front(std::min(rest.size(), mostPiecesOfKernel)))
        next.push_back(ConcatOp::create(
            b, op.getLoc(), rest.take_front(mostPiecesOfKernel), op.getDim()));
      pieces = next;
    }
    op->setOperands(pieces);
  }
}

void weft::duplicateCheapOps(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
    if (!isa<BroadcastOp, IotaOp>(op))
      continue;
    OpBuilder b(&op);
    auto uses = llvm::to_vector(llvm::make_pointer_range(op.getUses()));
    llvm::SmallMapVector<Operation *, Operation *, 4> copies;
    for (OpOperand *use : llvm::reverse(uses)) {
      if (use->getOwner()->hasTrait<OpTrait::IsTerminator>())
        continue;
      Operation *&copy = copies[use->getOwner()];
      if (!copy)
        copy = copies.size() == 1 ? &op : b.clone(op);
      use->set(copy->getResult(0));
    }
    if (op.use_empty())
      op.erase();
  }
}

bool weft::isWidening(Operation *op) {
  return isa_and_present<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(op) &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

/// Whether a broadcast repeats its whole operand, which is small: its
/// dimensions are the last ones of the result.
static bool repeatsRows(Operation *op) {
  auto broadcast = dyn_cast<BroadcastOp>(op);
  if (!broadcast)
    return false;
  RankedTensorType from = broadcast.getOperand().getType();
  RankedTensorType to = broadcast.getType();
  int64_t added = to.getRank() - from.getRank();
  for (auto [dim, target] : llvm::enumerate(broadcast.getDims()))
    if (target != added + int64_t(dim) ||
        from.getDimSize(dim) != to.getDimSize(target))
      return false;
  return added > 0;
}

/// Whether to move the elements as they are in memory costs no more than to
/// move those of the conversion.
static bool canConvertAfter(Operation *move, Operation *conversion) {
  return isWidening(conversion) ||
         (isa<arith::TruncFOp>(conversion) && repeatsRows(move));
}

void weft::convertAfterMoves(Block &body,
                             function_ref<bool(Operation *)> isMove) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (!isa<BroadcastOp, SliceOp, AllSliceOp, TransposeOp, GatherOp>(op) ||
        !isMove(&op))
      continue;
    Operation *conversion = op.getOperand(0).getDefiningOp();
    if (!conversion || !canConvertAfter(&op, conversion))
      continue;
    OpBuilder b(&op);
    auto elementOf = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getElementType();
    };
    auto converted = cast<RankedTensorType>(op.getResult(0).getType());
    Value source = conversion->getOperand(0);
    Operation *move = b.clone(op);
    move->setOperand(0, source);
    move->getResult(0).setType(converted.clone(elementOf(source)));
    Operation *after = b.clone(*conversion);
    after->setOperand(0, move->getResult(0));
    after->getResult(0).setType(converted);
    op.getResult(0).replaceAllUsesWith(after->getResult(0));
    op.erase();
    if (conversion->use_empty())
      conversion->erase();
  }
}

/// How many ops a barrier looks behind for what it waits for.
static constexpr size_t mostLookedBehind = 16;

/// The values from which element-wise ops compute those of `after`; those
/// themselves where that takes many ops, or where nothing would be left.
static SmallVector<Value>
findSources(ValueRange after, function_ref<bool(Operation *)> isElementwise) {
  llvm::SetVector<Value> seen(after.begin(), after.end());
  SmallVector<Value> sources;
  for (size_t i = 0; i < seen.size(); ++i) {
    Operation *op = seen[i].getDefiningOp();
    if (!op || isa<arith::ConstantOp>(op))
      continue; // always there
    if (isElementwise(op))
      seen.insert_range(op->getOperands());
    else
      sources.push_back(seen[i]);
    if (seen.size() > mostLookedBehind)
      return after;
  }
  return sources.empty() ? SmallVector<Value>(after) : sources;
}

void weft::loosenBarriers(Block &body,
                          function_ref<bool(Operation *)> isElementwise) {
  for (auto barrier : body.getOps<BarrierOp>())
    barrier.getAfterMutable().assign(
        findSources(barrier.getAfter(), isElementwise));
}

static bool isFull(ReduceOp op) {
  return int64_t(op.getDims().size()) == op.getOperand().getType().getRank();
}

/// How many dimensions the rows of a reduction have, of which it reduces each
/// or adds up all; nothing if it does neither.
static std::optional<int64_t> findRowRank(ReduceOp op) {
  ArrayRef<int64_t> dims = op.getDims();
  const int64_t rank = op.getOperand().getType().getRank();
  if (dims.empty() || dims.back() - dims.front() + 1 != int64_t(dims.size()))
    return std::nullopt;
  if (dims.front() == 0)
    return int64_t(dims.size());
  return dims.back() == rank - 1 ? std::optional(dims.front()) : std::nullopt;
}

static void splitAt(ReduceOp op, int64_t rowRank) {
  OriginListener listener(getOrigin(op));
  OpBuilder b(op, &listener);
  auto rank = op.getOperand().getType().getRank();
  Value rows = ReduceOp::create(b, op.getLoc(), op.getKind(), op.getOperand(),
                                llvm::to_vector(llvm::seq(rowRank, rank)));
  Value sum = ReduceOp::create(b, op.getLoc(), op.getKind(), rows,
                               llvm::to_vector(llvm::seq<int64_t>(0, rowRank)));
  // Such as the piece that they are of.
  for (NamedAttribute attr : op->getDiscardableAttrs())
    for (Value value : {rows, sum})
      value.getDefiningOp()->setDiscardableAttr(attr.getName(),
                                                attr.getValue());
  op.getResult().replaceAllUsesWith(sum);
  op.erase();
}

void weft::splitFullReductions(Block &body,
                               function_ref<bool(Operation *)> isElementwise) {
  DenseMap<Value, SmallVector<ReduceOp, 2>> readers;
  SmallVector<ReduceOp> full;
  auto sourcesOf = [&](ReduceOp op) {
    SmallVector<Value> sources = findSources(op.getOperand(), isElementwise);
    // What is repeated may be of much that has nothing else in common.
    llvm::erase_if(sources, [](Value source) {
      return bool(source.getDefiningOp<BroadcastOp>());
    });
    return sources;
  };
  for (auto op : body.getOps<ReduceOp>()) {
    // A sum of rows would be rounded.
    if (isNarrowFloat(op.getType().getElementType()))
      continue;
    if (isFull(op))
      full.push_back(op);
    else
      for (Value source : sourcesOf(op))
        readers[source].push_back(op);
  }
  auto findBeside = [&](ReduceOp op) -> std::optional<int64_t> {
    for (Value source : sourcesOf(op))
      for (ReduceOp other : readers.lookup(source))
        if (other.getOperand().getType().getShape() ==
            op.getOperand().getType().getShape())
          if (auto rowRank = findRowRank(other))
            return rowRank;
    return std::nullopt;
  };
  SmallVector<std::optional<int64_t>> rowRanks(
      llvm::map_range(full, findBeside));
  for (auto [op, rowRank] : llvm::zip_equal(full, rowRanks))
    if (rowRank)
      splitAt(op, *rowRank);
}

/// The ops of the block whose results an op, or one in it, reads.
static SmallVector<Operation *> findProducers(Operation *op) {
  llvm::SmallSetVector<Operation *, 8> producers;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getBlock() == op->getBlock())
        producers.insert(producer);
  });
  return producers.takeVector();
}

void weft::sortBehindOperands(Block &body) {
  DenseMap<Operation *, size_t> numbers, missing;
  /// By op: what waits for it.
  DenseMap<Operation *, SmallVector<Operation *, 2>> waiting;
  /// By number.
  std::map<size_t, Operation *> ready;
  SmallVector<Operation *> order;
  DenseSet<Operation *> placed;
  for (Operation &op : body.without_terminator()) {
    const size_t number = numbers.size();
    numbers[&op] = number;
    SmallVector<Operation *> producers = findProducers(&op);
    llvm::erase_if(producers,
                   [&](Operation *producer) { return placed.count(producer); });
    if (!producers.empty()) {
      missing[&op] = producers.size();
      for (Operation *producer : producers)
        waiting[producer].push_back(&op);
      continue;
    }
    ready[number] = &op;
    while (!ready.empty()) {
      Operation *next = ready.begin()->second;
      ready.erase(ready.begin());
      order.push_back(next);
      placed.insert(next);
      for (Operation *waits : waiting.lookup(next))
        if (--missing[waits] == 0)
          ready[numbers.at(waits)] = waits;
    }
  }
  if (missing.empty())
    return;
  for (Operation *op : order)
    op->moveBefore(body.getTerminator());
}
