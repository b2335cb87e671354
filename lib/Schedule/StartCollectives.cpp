//===- StartCollectives.cpp - Communication beside computation ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/OverlapOrder.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/StepCost.h"

#include "weft/IR/Origin.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

namespace weft {
#define GEN_PASS_DEF_STARTCOLLECTIVES
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

static bool isCollective(Operation *op) {
  return isa<AllGatherOp, AllReduceOp, ReduceScatterOp, AllToAllOp, PermuteOp>(
      op);
}

/// Moves every view right before its first user, so that it does not look like
/// a use of a collective's result.
static void sinkViews(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isa<BarrierOp, ReshapeOp>(op) || op.use_empty())
      continue;
    Operation *first = *op.user_begin();
    for (Operation *user : op.getUsers())
      if (user->isBeforeInBlock(first))
        first = user;
    op.moveBefore(first);
  }
}

/// From here on the order is that of the ops.
static void eraseBarriers(Block &block) {
  for (auto barrier : llvm::make_early_inc_range(block.getOps<BarrierOp>())) {
    barrier.replaceAllUsesWith(barrier.getOperand());
    barrier.erase();
  }
}

/// The steps of a block, without its terminator.
static std::vector<Step> stepsOf(ArrayRef<Operation *> ops) {
  llvm::DenseMap<Operation *, int32_t> indices;
  std::vector<Step> steps;
  for (auto [index, op] : llvm::enumerate(ops)) {
    indices[op] = index;
    Step step;
    for (Value operand : op->getOperands())
      if (Operation *definer = operand.getDefiningOp())
        step.operands.push_back(indices.lookup(definer));
    step.isCollective = isCollective(op);
    step.enlarges = isa<AllGatherOp>(op);
    step.seconds = estimateSeconds(op);
    steps.push_back(std::move(step));
  }
  return steps;
}

/// The asynchronous start of a collective of form 3.
static StartOp createStart(OpBuilder &builder, Operation *op) {
  auto build = [&](CollectiveKind kind, ReductionAttr reduction,
                   IntegerAttr dim, IntegerAttr concat, AxesAttr axes,
                   AxesAttr to) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    return StartOp::create(
        builder, op->getLoc(), PendingType::get(op->getContext(), type), kind,
        op->getOperand(0), reduction, dim, concat, axes, to,
        /*in_place=*/false, op->getAttrOfType<StringAttr>("cause"));
  };
  return llvm::TypeSwitch<Operation *, StartOp>(op)
      .Case([&](AllReduceOp op) {
        return build(CollectiveKind::AllReduce, op.getKindAttr(), {}, {},
                     op.getAxes(), {});
      })
      .Case([&](AllGatherOp op) {
        return build(CollectiveKind::AllGather, {}, op.getDimAttr(), {},
                     op.getAxes(), {});
      })
      .Case([&](ReduceScatterOp op) {
        return build(CollectiveKind::ReduceScatter, op.getKindAttr(),
                     op.getDimAttr(), {}, op.getAxes(), {});
      })
      .Case([&](AllToAllOp op) {
        return build(CollectiveKind::AllToAll, {}, op.getSplitAttr(),
                     op.getConcatAttr(), op.getAxes(), {});
      })
      .Case([&](PermuteOp op) {
        StartOp start = build(CollectiveKind::Permute, {}, {}, {}, op.getFrom(),
                              op.getTo());
        start.setShift(op.getShift());
        return start;
      });
}

/// Puts the ops of `block` in the order of `actions`; returns the number of
/// collectives.
static int64_t reorder(Block &block, ArrayRef<Operation *> ops,
                       ArrayRef<Action> actions) {
  OpBuilder builder = OpBuilder::atBlockTerminator(&block);
  llvm::DenseMap<int32_t, StartOp> starts;
  for (const Action &action : actions) {
    Operation *op = ops[action.step];
    if (action.isWait) {
      auto wait = WaitOp::create(builder, op->getLoc(), starts.at(action.step));
      setOrigin(wait, getOrigin(op));
      op->getResult(0).replaceAllUsesWith(wait.getResult());
      op->erase();
    } else if (isCollective(op)) {
      StartOp start = createStart(builder, op);
      setOrigin(start, getOrigin(op));
      starts[action.step] = start;
    } else {
      op->moveBefore(block.getTerminator());
    }
  }
  return starts.size();
}

namespace {
struct StartCollectives : weft::impl::StartCollectivesBase<StartCollectives> {
  using StartCollectivesBase::StartCollectivesBase;

  void runOnInput() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isPrivate() || function.isDeclaration())
        continue;
      Block &block = function.front();
      sinkViews(block);
      SmallVector<Operation *> ops;
      for (Operation &op : block.without_terminator())
        ops.push_back(&op);
      std::vector<Step> steps = stepsOf(ops);
      std::vector<Action> actions =
          overlapCollectives ? overlapOrder(steps) : programOrder(steps);
      collectives += reorder(block, ops, actions);
      eraseBarriers(block);
    }
  }
};
} // namespace
