//===- StagesOfLoop.cpp - The stages of what a micro-batch computes -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A walk down the block gives ops that depend on boundaries their stage: the
// last one of what they are computed from on the way forward, the first one on
// the way back. A walk up gives all others the stages that use them, and so it
// does to what is recomputed.
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "weft/IR/Origin.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;

ValueRange weft::computedFrom(Operation *op) {
  ValueRange operands = op->getOperands();
  return isa<BarrierOp, StageBoundaryOp>(op) ? operands.take_front(1)
                                             : operands;
}

namespace {

/// Where a value of the loop is computed.
struct Computed {
  int64_t stage = 0;
  /// Behind a boundary that takes a cotangent back.
  bool isBack = false;
  /// Behind a boundary at all.
  bool isFixed = false;
  /// Behind a barrier that waits for a value: the stage of that, if it goes
  /// back one more than all stages.
  int64_t awaited = -1;
};

class LoopStages {
public:
  LoopStages(Block &block, int64_t count) : block(block), stages(count) {}

  /// Stages of what depends on boundaries.
  void walkDown();
  LogicalResult check() const;
  void splitSums();
  void walkUp();
  Stages take() { return std::move(stages); }
  int64_t countStages() const;
  OpStages findBehind();

private:
  Computed compute(Operation *op) const;
  int64_t findAwaited(Operation *op) const;
  bool isRecomputedByUser(Operation *op, int64_t stage) const;
  bool isPassedAgain(StageBoundaryOp op) const;
  LogicalResult check(StageBoundaryOp op) const;
  bool split(MicrobatchSumOp sum);
  bool isFixed(Value value) const { return computed.lookup(value).isFixed; }
  StageSet findUsers(Operation *op) const;
  bool isCheaperSent(Operation *op) const;

  Block &block;
  Stages stages;
  llvm::DenseMap<Value, Computed> computed;
};

} // namespace

/// The last stage that anything waits for that an op is computed from.
int64_t LoopStages::findAwaited(Operation *op) const {
  int64_t awaited = -1;
  for (Value operand : computedFrom(op))
    awaited = std::max(awaited, computed.lookup(operand).awaited);
  if (isa<BarrierOp>(op))
    for (Value after : op->getOperands().drop_front())
      if (Computed one = computed.lookup(after); one.isFixed)
        awaited =
            std::max(awaited, one.isBack ? int64_t(INT32_MAX) : one.stage);
  return awaited;
}

/// Whether what a stage has computed is recomputed on the way back: by the
/// stage that uses it there, which may be a later one. The last stage is none
/// before another one. A barrier on the way forward waits for no later stage.
bool LoopStages::isRecomputedByUser(Operation *op, int64_t stage) const {
  return stage + 1 < stages.count &&
         (isRecomputed(getOrigin(op)) ||
          (isa<BarrierOp>(op) && findAwaited(op) > stage));
}

Computed LoopStages::compute(Operation *op) const {
  Computed forward, back;
  for (Value operand : computedFrom(op)) {
    Computed one = computed.lookup(operand);
    Computed &all = one.isBack ? back : forward;
    bool isNearer = one.isBack ? one.stage < all.stage : one.stage > all.stage;
    if (one.isFixed && (!all.isFixed || isNearer))
      all = one;
  }
  forward.awaited = back.awaited = findAwaited(op);
  auto boundary = dyn_cast<StageBoundaryOp>(op);
  if (!boundary && isRecomputedByUser(op, forward.stage) && !back.isFixed)
    return {.awaited = forward.awaited};
  if (!boundary)
    return back.isFixed ? back : forward;
  if (Value of = boundary.getOf())
    return {computed.lookup(of).stage - 1, /*isBack=*/true, /*isFixed=*/true};
  return {(back.isFixed ? back : forward).stage + 1, back.isFixed,
          /*isFixed=*/true, forward.awaited};
}

void LoopStages::walkDown() {
  computed.clear();
  for (Operation &op : block) {
    Computed result = compute(&op);
    for (Value value : op.getResults())
      computed[value] = leavesMicrobatches(&op) ? Computed() : result;
  }
}

int64_t LoopStages::countStages() const {
  int64_t last = 0;
  for (const auto &[value, one] : computed)
    last = std::max(last, one.stage);
  return last + 1;
}

OpStages LoopStages::findBehind() {
  walkDown();
  OpStages behind;
  for (Operation &op : block.without_terminator())
    if (Computed one = compute(&op); one.isFixed && !isa<StageBoundaryOp>(op))
      behind[&op] = one.stage;
  return behind;
}

OpStages weft::findStagesBehindBoundaries(Block &block) {
  return LoopStages(block, 0).findBehind();
}

int64_t weft::countStages(Block &block) {
  LoopStages loop(block, 0);
  loop.walkDown();
  return loop.countStages();
}

//===----------------------------------------------------------------------===//
// What cannot be cut
//===----------------------------------------------------------------------===//

/// Whether a boundary is one of the forward pass, passed again. JAX says only
/// by a barrier what it recomputes: until a cotangent is there, which is no
/// earlier than what is behind the boundary in the forward pass.
bool LoopStages::isPassedAgain(StageBoundaryOp op) const {
  return isRecomputed(getOrigin(op)) ||
         (!op.getOf() && computed.lookup(op.getOperand()).awaited >=
                             computed.lookup(op.getResult()).stage);
}

LogicalResult LoopStages::check(StageBoundaryOp op) const {
  Computed from = computed.lookup(op.getOperand());
  if (!op.getOf() && from.isBack) {
    auto error = op.emitError()
                 << "a value that is computed from a cotangent of stage "
                 << from.stage << " would go forward to the next one again";
    error.attachNote(op.getOperand().getLoc()) << "this value";
    return error << "; take gradients of gradients behind the last boundary";
  }
  int64_t later = op.getOf() ? computed.lookup(op.getOf()).stage : 0;
  if (!op.getOf() || !from.isFixed || from.stage >= later)
    return success();
  auto error = op.emitError()
               << "a cotangent of stage " << later << " is computed by stage "
               << from.stage << ", so it would go from stage to stage twice";
  error.attachNote(op.getOperand().getLoc()) << "the cotangent";
  error.attachNote(op.getOf().getLoc()) << "the boundary";
  return error << "; let the boundary's result be used by later stages only";
}

LogicalResult LoopStages::check() const {
  bool legal = true;
  for (auto op : block.getOps<StageBoundaryOp>())
    if (isPassedAgain(op)) {
      op.emitError("a stage boundary in a checkpointed function would be "
                   "passed a second time on the way back; end the checkpoint "
                   "before the boundary and begin another one behind it");
      legal = false;
    }
  // All else follows from those.
  if (legal)
    for (auto op : block.getOps<StageBoundaryOp>())
      legal &= succeeded(check(op));
  return success(legal);
}

//===----------------------------------------------------------------------===//
// Sums of what several stages compute
//===----------------------------------------------------------------------===//

/// What stages add up of a value that all of them use (the gradient of a tied
/// parameter) is exchanged once a step, not once a micro-batch.
bool LoopStages::split(MicrobatchSumOp sum) {
  // What is between moves no number: it can as well be done to the terms.
  SmallVector<Operation *> between;
  Value value = sum.getOperand();
  while (isa_and_present<ConstraintOp, ReshapeOp, TransposeOp>(
             value.getDefiningOp()) &&
         value.hasOneUse()) {
    between.push_back(value.getDefiningOp());
    value = between.back()->getOperand(0);
  }
  auto add = value.getDefiningOp<arith::AddFOp>();
  if (!add || !add->hasOneUse() || !isFixed(add.getLhs()) ||
      !isFixed(add.getRhs()) ||
      computed.lookup(add.getLhs()).stage ==
          computed.lookup(add.getRhs()).stage)
    return false;
  OriginListener listener(joinOrigins(getOrigin(sum), getOrigin(add)));
  OpBuilder b(sum->getContext(), &listener);
  b.setInsertionPoint(sum);
  SmallVector<Value, 2> sums;
  for (Value term : {add.getLhs(), add.getRhs()}) {
    for (Operation *op : llvm::reverse(between)) {
      Operation *own = b.clone(*op);
      own->setOperand(0, term);
      term = own->getResult(0);
    }
    sums.push_back(
        MicrobatchSumOp::create(b, sum.getLoc(), term, sum.getMicrobatches()));
  }
  Value total = arith::AddFOp::create(b, add.getLoc(), sums[0], sums[1]);
  sum.replaceAllUsesWith(total);
  sum.erase();
  for (Operation *op : between)
    op->erase();
  add.erase();
  return true;
}

void LoopStages::splitSums() {
  for (bool isChanged = true; isChanged; walkDown()) {
    isChanged = false;
    for (auto sum : llvm::make_early_inc_range(block.getOps<MicrobatchSumOp>()))
      isChanged |= split(sum);
  }
}

//===----------------------------------------------------------------------===//
// What depends on no boundary
//===----------------------------------------------------------------------===//

StageSet LoopStages::findUsers(Operation *op) const {
  StageSet users(stages.count);
  for (Operation *user : op->getUsers()) {
    auto boundary = dyn_cast<StageBoundaryOp>(user);
    if (!boundary)
      users |= stages.of.lookup(user);
    else if (computedFrom(user).front().getDefiningOp() == op)
      // What comes before the boundary.
      users.set(computed.lookup(boundary.getResult()).stage +
                (boundary.getOf() ? 1 : -1));
  }
  if (users.none())
    users.set(0);
  return users;
}

/// Whether to send the results of an op to other stages costs less than to
/// compute them there anew: for which takes a matmul, or values of the whole
/// step (parameters) that are larger than what all micro-batches would send.
bool LoopStages::isCheaperSent(Operation *op) const {
  if (getBorder(op))
    return false;
  SmallVector<Operation *> pending = {op};
  llvm::DenseSet<Operation *> seen;
  int64_t usedBytes = 0, sentBytes = 0, count = 0;
  while (!pending.empty()) {
    Operation *next = pending.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (isa<ProductOpInterface>(next))
      return true;
    if (MicrobatchesAttr loop = getBorder(next))
      count = loop.getCount();
    if (isa<MicrobatchSliceOp>(next))
      continue;
    for (Value operand : next->getOperands()) {
      Operation *definer = operand.getDefiningOp();
      if (definer && stages.isInLoop(definer))
        pending.push_back(definer);
      else if (!definer || !isa<arith::ConstantOp>(definer))
        usedBytes += bytesOf(operand);
    }
  }
  for (Value result : op->getResults())
    sentBytes += bytesOf(result);
  return count * sentBytes < usedBytes;
}

void LoopStages::walkUp() {
  Microbatches microbatches(block);
  for (Operation &op : block)
    if (microbatches.loopOf(&op)) {
      auto boundary = dyn_cast<StageBoundaryOp>(op);
      if (boundary && !boundary.getOf())
        stages.begins[&op] = computed.lookup(boundary.getResult()).stage;
      stages.gradients[&op] =
          (boundary && boundary.getOf()) ||
          llvm::any_of(computedFrom(&op), [&](Value operand) {
            return computed.lookup(operand).isBack;
          });
    }
  for (Operation &op : llvm::reverse(block)) {
    if (!stages.isInLoop(&op) || isa<StageBoundaryOp>(op))
      continue;
    Computed own = compute(&op);
    stages.of[&op] = own.isFixed ? stages.only(own.stage) : findUsers(&op);
    StageSet &users = stages.of[&op];
    // On the way back the last stage comes first.
    if (users.count() > 1 && isCheaperSent(&op))
      users = stages.only(isRecomputed(getOrigin(&op)) ? users.find_last()
                                                       : users.find_first());
  }
}

FailureOr<Stages> weft::findStagesOfLoop(Block &block, int64_t count) {
  LoopStages loop(block, count);
  loop.walkDown();
  if (failed(loop.check()))
    return failure();
  loop.splitSums();
  loop.walkUp();
  return loop.take();
}
