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

/// The last op but `except` that reads the buffer of `value`, through views
/// too; null if there is none.
static Operation *lastOtherReader(Value value, Operation *except) {
  Operation *last = nullptr;
  auto visit = [&](Operation *op) {
    if (op && op != except && (!last || last->isBeforeInBlock(op)))
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
static Operation *findEarliestPlace(Operation *op) {
  Operation *place = nullptr;
  auto comeAfter = [&](Operation *other) {
    if (other && (!place || place->isBeforeInBlock(other)))
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
    if (other && !other->isBeforeInBlock(op))
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

static bool hoist(Operation *op) {
  Operation *place = findEarliestPlace(op);
  if (place == op || op->getPrevNode() == place)
    return false;
  if (place)
    op->moveAfter(place);
  else
    op->moveBefore(op->getBlock(), op->getBlock()->begin());
  return true;
}

namespace {
struct HoistReleases : weft::impl::HoistReleasesBase<HoistReleases> {
  void runOnOperation() override {
    for (func::FuncOp entry : findEntries(getOperation()))
      for (Operation &op : llvm::make_early_inc_range(entry.front()))
        if (isa<LaunchOp, GemmOp, AllGatherOp, AllReduceOp, AllToAllOp,
                PermuteOp, ReduceScatterOp>(op))
          hoisted += hoist(&op);
  }
};
} // namespace
