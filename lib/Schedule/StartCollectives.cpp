//===- StartCollectives.cpp - Communication beside computation ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PieceWriter.h"

#include "weft/Schedule/ExplainSchedule.h"
#include "weft/Schedule/OverlapOrder.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/ProgramStates.h"
#include "weft/Schedule/RecomputationReport.h"
#include "weft/Schedule/StepCost.h"

#include "weft/IR/BufferParts.h"
#include "weft/IR/ClusterCost.h"
#include "weft/IR/Origin.h"
#include "weft/IR/SavedTime.h"
#include "weft/IR/Segments.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <cmath>

namespace weft {
#define GEN_PASS_DEF_STARTCOLLECTIVES
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// Moves every view right before its first user, so that it does not look like
/// a use of a collective's result.
static void sinkViews(Block &block) {
  // A move makes MLIR number the whole block anew: its numbers are needed only
  // among views that moved to the same op.
  llvm::DenseMap<Operation *, int64_t> positions;
  for (auto [position, op] : llvm::enumerate(block))
    positions[&op] = position;
  auto isBefore = [&](Operation *a, Operation *b) {
    int64_t first = positions.at(a), second = positions.at(b);
    return first < second ||
           (first == second && a != b && a->isBeforeInBlock(b));
  };
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!(isView(&op) || isPartView(&op)) || op.use_empty())
      continue;
    Operation *first = nullptr;
    for (Operation *user : op.getUsers())
      if (user = block.findAncestorOpInBlock(*user);
          !first || isBefore(user, first))
        first = user;
    op.moveBefore(first);
    positions[&op] = positions.at(first);
  }
}

/// From here on the order is that of the ops.
static void eraseBarriers(Block &block) {
  for (auto barrier : llvm::make_early_inc_range(block.getOps<BarrierOp>())) {
    barrier.replaceAllUsesWith(barrier.getOperand());
    barrier.erase();
  }
}

/// Far from what an integer of picoseconds can hold.
static constexpr double mostSeconds = 1e6;

/// A view, or a sum that is written over what it is of.
static bool takesNoMemory(Operation *op) {
  if (isView(op) || isPartView(op) || op->hasTrait<OpTrait::ConstantLike>())
    return true;
  auto collective = dyn_cast<CommunicationOpInterface>(op);
  return collective && collective.isAllReduce() &&
         op->getOperand(0).hasOneUse() && op->getOperand(0).getDefiningOp();
}

/// What takes the place of an argument: what a block returns as a state, or
/// carries on to the next iteration.
static llvm::DenseSet<Value> findInPlace(Block &block,
                                         const ProgramStates &states) {
  llvm::DenseSet<Value> inPlace;
  auto entry = dyn_cast<func::FuncOp>(block.getParentOp());
  for (auto [index, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    if (entry && states.ofResult(entry, index) < 0)
      continue;
    inPlace.insert(value);
    for (Operation *op = value.getDefiningOp(); op && isView(op);
         op = op->getOperand(0).getDefiningOp())
      inPlace.insert(op->getOperand(0));
  }
  return inPlace;
}

/// The steps of a block, without its terminator.
static std::vector<Step> stepsOf(ArrayRef<Operation *> ops,
                                 const llvm::DenseSet<Value> &inPlace,
                                 const cost::CostModel &model) {
  llvm::DenseMap<Operation *, int32_t> indices;
  std::vector<Step> steps;
  for (auto [index, op] : llvm::enumerate(ops)) {
    indices[op] = index;
    Step step;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (auto definer = indices.find(operand.getDefiningOp());
            definer != indices.end())
          step.operands.push_back(definer->second);
    });
    // The steps of a loop are in order by now.
    auto loop = dyn_cast<RepeatOp>(op);
    const double seconds = loop ? double(loop.getCount()) *
                                      predictTimes(loop.getBlock(), model).whole
                                : estimateSeconds(op, model);
    // What a cluster has no links for takes forever, in any order.
    step.picoseconds = std::llround(
        (std::isinf(seconds) ? 1 : std::min(seconds, mostSeconds)) *
        picosecondsPerSecond);
    auto communication = dyn_cast<CommunicationOpInterface>(op);
    // One that takes the cores that compute is a step of computation.
    if (communication && hides(communication, model)) {
      step.isCollective = true;
      step.enlarges = bytesOf(op->getResult(0)) > bytesOf(op->getOperand(0));
      step.link = int32_t(callOf(communication, model).group.level);
    }
    step.isView = takesNoMemory(op);
    for (Value result : op->getResults())
      if (!step.isView && !inPlace.contains(result))
        step.bytes += bytesOf(result);
    step.isReturned = llvm::any_of(op->getUsers(), [](Operation *user) {
      return user->hasTrait<OpTrait::IsTerminator>();
    });
    steps.push_back(std::move(step));
  }
  return steps;
}

/// Waits for a collective that has been started in the place of its op.
static void waitFor(Operation *op, Value pending, OpBuilder &builder) {
  auto wait = WaitOp::create(builder, op->getLoc(), pending);
  setOrigin(wait, getOrigin(op));
  op->getResult(0).replaceAllUsesWith(wait.getResult());
  op->erase();
}

/// Puts the ops of `block` in the order of `actions`; returns the number of
/// collectives.
static int64_t reorder(Block &block, ArrayRef<Operation *> ops,
                       ArrayRef<Step> steps, ArrayRef<Action> actions) {
  OpBuilder builder = OpBuilder::atBlockTerminator(&block);
  llvm::DenseMap<int32_t, Value> starts;
  for (const Action &action : actions) {
    Operation *op = ops[action.step];
    if (action.isWait) {
      waitFor(op, starts.at(action.step), builder);
    } else if (auto communication = dyn_cast<CommunicationOpInterface>(op)) {
      Value pending = communication.buildStart(builder);
      setOrigin(pending.getDefiningOp(), getOrigin(op));
      if (Attribute piece = op->getAttr(kPieceAttrName))
        pending.getDefiningOp()->setAttr(kPieceAttrName, piece);
      starts[action.step] = pending;
      if (!steps[action.step].isCollective)
        waitFor(op, pending, builder);
    } else {
      op->moveBefore(block.getTerminator());
    }
  }
  return starts.size();
}

static int64_t bytesOfArguments(Block &block) {
  int64_t bytes = 0;
  for (BlockArgument argument : block.getArguments())
    bytes += bytesOf(argument);
  return bytes;
}

/// Of collectives that do not enlarge their operand, the largest operand: it is
/// held while it is sent.
static int64_t bytesOfLargestSent(ArrayRef<Operation *> ops,
                                  ArrayRef<Step> steps) {
  int64_t most = 0;
  for (auto [op, step] : llvm::zip_equal(ops, steps))
    if (step.isCollective && !step.enlarges)
      most = std::max(most, bytesOf(op->getOperand(0)));
  return most;
}

/// Of what was spared, or is held anyway, what an order may hold to be faster.
static int64_t sparedBytes(Block &block, ArrayRef<Operation *> ops,
                           ArrayRef<Step> steps) {
  return getRecomputationReport(block.getParentOp()).sparedBytes +
         bytesOfLargestSent(ops, steps);
}

/// Collectives between whose start and wait something is computed, and what
/// that saves.
static void reportOverlap(Block &block, ArrayRef<Step> steps,
                          ArrayRef<Action> actions) {
  int64_t collectives = 0, overlapped = 0, computing = 0;
  std::vector<int64_t> atStart(steps.size());
  for (const Action &action : actions) {
    const Step &step = steps[action.step];
    if (action.isWait) {
      ++collectives;
      overlapped += computing > atStart[action.step];
    } else if (step.isCollective) {
      atStart[action.step] = computing;
    } else {
      computing += step.picoseconds;
    }
  }
  const int64_t before = costOf(steps, programOrder(steps)).picoseconds,
                after = costOf(steps, actions).picoseconds;
  // What is printed has three digits.
  if (double(after) < 0.999 * double(before))
    addSavedTime(block,
                 {std::to_string(overlapped) + " of " +
                      std::to_string(collectives) +
                      (collectives == 1 ? " collective" : " collectives") +
                      " beside computation,",
                  double(before) / picosecondsPerSecond,
                  double(after) / picosecondsPerSecond});
}

namespace {
struct StartCollectives : weft::impl::StartCollectivesBase<StartCollectives> {
  using StartCollectivesBase::StartCollectivesBase;

  void runOnInput() override {
    FailureOr<cost::CostModel> model = loadCostModel(getOperation(), cluster);
    FailureOr<ProgramStates> states = ProgramStates::collect(getOperation());
    if (failed(model) || failed(states))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isPrivate() || function.isDeclaration())
        continue;
      function.walk([&](Block *block) {
        schedule(*block, *model, *states, canBeDeferred(function));
      });
    }
  }

  /// A loop is one step of the block around it: no collective runs across its
  /// border. `goesOn`: it runs beside other programs once all is started.
  void schedule(Block &block, const cost::CostModel &model,
                const ProgramStates &states, bool goesOn) {
    sinkViews(block);
    SmallVector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    std::vector<Step> steps = stepsOf(ops, findInPlace(block, states), model);
    double seconds = 0;
    for (const Step &step : steps)
      seconds += double(step.picoseconds) / picosecondsPerSecond;
    if (seconds >= mostSeconds) {
      block.getParentOp()->emitError()
          << "takes 1e6 seconds or more on the cluster \"" << cluster
          << "\"; look at its rates and latencies";
      return signalPassFailure();
    }
    std::vector<Action> actions =
        !overlapCollectives ? programOrder(steps)
        : goesOn ? startsFirst(steps)
                 : knownFastestOrder(
                       steps, arenaGrowth, bytesOfArguments(block),
                       arenaGrowth > 0 ? sparedBytes(block, ops, steps) : 0);
    std::vector<std::string> problems = checkOrder(steps, actions);
    for (const std::string &problem : problems)
      block.getParentOp()->emitError()
          << "wrong order of collectives: " // no test: a wrong answer
          << problem;
    if (!problems.empty())
      return signalPassFailure();
    if (overlapCollectives && !goesOn)
      reportOverlap(block, steps, actions);
    collectives += reorder(block, ops, steps, actions);
    eraseBarriers(block);
  }
};
} // namespace
