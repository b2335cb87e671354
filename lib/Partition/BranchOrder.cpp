//===- BranchOrder.cpp - Collectives of branches side by side -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BranchOrder.h"
#include "BlockTimes.h"

#include "weft/IR/WeftOps.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace mlir;
using namespace weft;

bool weft::canMove(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 && isPure(op) &&
         !isa<CommunicationOpInterface, BarrierOp>(op) &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

/// Of a branch up to its collective: more would wait for each other, and be
/// held meanwhile.
static constexpr size_t mostOps = 24;

namespace {

/// The last in the block first.
struct IsLater {
  bool operator()(Operation *a, Operation *b) const {
    return b->isBeforeInBlock(a);
  }
};

/// What a collective is made of, from the last op on, up to one that cannot
/// move or is one too many.
struct Branch {
  explicit Branch(Operation *collective);

  SmallVector<Operation *> ops;
  Operation *end = nullptr;
};

} // namespace

static auto producersIn(Block &block, Operation *op) {
  SmallVector<Operation *> producers;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp();
        producer && producer->getBlock() == &block)
      producers.push_back(producer);
  return producers;
}

Branch::Branch(Operation *collective) {
  Block &block = *collective->getBlock();
  std::set<Operation *, IsLater> open;
  for (Operation *producer : producersIn(block, collective))
    open.insert(producer);
  while (!open.empty()) {
    Operation *op = *open.begin();
    if (!canMove(op) || ops.size() == mostOps) {
      end = op;
      return;
    }
    open.erase(open.begin());
    ops.push_back(op);
    for (Operation *producer : producersIn(block, op))
      open.insert(producer);
  }
}

/// How many of the collectives stand behind each other up to each.
static DenseMap<Operation *, int64_t> findDepths(Block &block,
                                                 ArrayRef<BranchEnd> ends) {
  DenseSet<Operation *> collectives;
  for (const BranchEnd &end : ends)
    collectives.insert(end.collective);
  DenseMap<Operation *, int64_t> depths;
  for (Operation &op : block) {
    int64_t depth = 0;
    for (Operation *producer : producersIn(block, &op))
      depth = std::max(depth, depths.lookup(producer));
    depths[&op] = depth + collectives.contains(&op);
  }
  return depths;
}

void weft::raiseBranches(Block &block, ArrayRef<BranchEnd> ends,
                         const cost::CostModel &model) {
  if (ends.size() < 2)
    return;
  const DenseMap<Operation *, int64_t> depths = findDepths(block, ends);
  // The bound is there for what is held meanwhile.
  const BlockTimes times(block, model, /*hasLaunches=*/false);
  DenseMap<Operation *, double> seconds;
  for (auto [number, op] : llvm::enumerate(block))
    seconds[&op] = times.at(number + 1) - times.at(number);
  // As deep as each other, none needs another one.
  std::map<std::pair<unsigned, int64_t>, SmallVector<Operation *>> alike;
  DenseMap<Operation *, Operation *> lastAt;
  for (const BranchEnd &end : ends) {
    SmallVector<Operation *> &before =
        alike[{end.kind, depths.lookup(end.collective)}];
    const Branch branch(end.collective);
    auto *first = llvm::find_if(before, [&](Operation *other) {
      return !branch.end || branch.end->isBeforeInBlock(other);
    });
    if (first != before.end()) {
      SmallVector<Operation *> moved;
      double sum = 0;
      for (Operation *op : llvm::reverse(branch.ops))
        if ((*first)->isBeforeInBlock(op)) {
          moved.push_back(op);
          sum += seconds.lookup(op);
        }
      if (sum <= end.mostSeconds) {
        for (Operation *op : moved)
          op->moveBefore(*first);
        // Behind those that came there before: deeper ones follow it.
        Operation *&last = lastAt.try_emplace(*first, *first).first->second;
        end.collective->moveAfter(last);
        last = end.collective;
      }
    }
    before.push_back(end.collective);
  }
}
