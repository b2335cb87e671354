//===- HoistReleases.cpp - Run ops that free memory early -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/Passes.h"
#include "weft/Schedule/ProgramStates.h"
#include "weft/Schedule/StepCost.h"

#include "weft/IR/WeftOps.h"

namespace weft {
#define GEN_PASS_DEF_HOISTRELEASES
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// Whether the op's result shows the buffer of its first operand.
static bool isView(Operation *op) {
  return isa_and_present<BarrierOp, ReshapeOp>(op);
}

/// The value whose buffer a view shows.
static Value bufferOf(Value value) {
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

namespace {
/// The order of a block's ops while some of them move. Asking the block itself
/// would number all its ops anew after nearly every move.
class OpOrder {
public:
  explicit OpOrder(Block &block) : block(block) { number(); }

  bool isBefore(Operation *a, Operation *b) const {
    return labels.lookup(a) < labels.lookup(b);
  }

  /// Moves `op` behind `place`, or to the start of the block if that is null.
  void moveAfter(Operation *op, Operation *place) {
    if (place)
      op->moveAfter(place);
    else
      op->moveBefore(&block, block.begin());
    uint64_t low = place ? labels.lookup(place) : 0;
    uint64_t high = labels.lookup(op->getNextNode());
    if (high - low < 2)
      return number();
    labels[op] = low + (high - low) / 2;
  }

private:
  void number() {
    uint64_t label = 0;
    for (Operation &op : block)
      labels[&op] = label += uint64_t(1) << 32;
  }

  Block &block;
  llvm::DenseMap<Operation *, uint64_t> labels;
};

/// Moves the ops of one block.
class Hoister {
public:
  explicit Hoister(Block &block) : order(block) {}

  /// Whether `op` could be moved towards the start of the block.
  bool hoist(Operation *op);

private:
  Operation *lastOtherReader(Value value, Operation *except) const;
  Operation *findEarliestPlace(Operation *op) const;

  OpOrder order;
};
} // namespace

/// The last op but `except` that reads the buffer of `value`, through views
/// too; null if there is none.
Operation *Hoister::lastOtherReader(Value value, Operation *except) const {
  Operation *last = nullptr;
  auto visit = [&](Operation *op) {
    if (op && op != except && (!last || order.isBefore(last, op)))
      last = op;
  };
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    visit(isView(user) && use.getOperandNumber() == 0
              ? lastOtherReader(user->getResult(0), except)
              : user);
  }
  return last;
}

static int64_t bytesOf(Value value) {
  return byteSize(cast<RankedTensorType>(value.getType()));
}

static bool isReturned(Operation *op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// The op behind which `op` can run at the earliest without holding more memory
/// than where it is, null for the start of the block; `op` itself if it has to
/// stay.
Operation *Hoister::findEarliestPlace(Operation *op) const {
  Operation *place = nullptr;
  auto comeAfter = [&](Operation *other) {
    if (other && (!place || order.isBefore(place, other)))
      place = other;
  };
  int64_t freed = 0;
  llvm::SmallPtrSet<void *, 8> seen;
  for (Value operand : op->getOperands()) {
    comeAfter(operand.getDefiningOp());
    Value buffer = bufferOf(operand);
    if (!seen.insert(buffer.getAsOpaquePointer()).second)
      continue;
    Operation *other = lastOtherReader(buffer, op);
    if (other && !order.isBefore(other, op))
      continue;
    // The place of an argument is free for a result that replaces it.
    if (isa<BlockArgument>(buffer) && !isReturned(op))
      continue;
    freed += bytesOf(buffer);
    comeAfter(other);
  }
  for (Value result : op->getResults())
    freed -= bytesOf(result);
  return freed >= 0 ? place : op;
}

bool Hoister::hoist(Operation *op) {
  Operation *place = findEarliestPlace(op);
  if (place == op || op->getPrevNode() == place)
    return false;
  order.moveAfter(op, place);
  return true;
}

namespace {
struct HoistReleases : weft::impl::HoistReleasesBase<HoistReleases> {
  void runOnOperation() override {
    for (func::FuncOp entry : findEntries(getOperation())) {
      Hoister hoister(entry.front());
      for (Operation &op : llvm::make_early_inc_range(entry.front()))
        if (isa<LaunchOp, GemmOp, AttentionOp, AttentionGradOp, AllGatherOp,
                AllReduceOp, AllToAllOp, PermuteOp, ReduceScatterOp>(op))
          hoisted += hoister.hoist(&op);
    }
  }
};
} // namespace
