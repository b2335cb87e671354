//===- SegmentPlan.cpp - Which segment computes each op -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SegmentPlan.h"

#include "Stages.h"

#include "weft/IR/Origin.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

#include <limits>
#include <set>

using namespace mlir;
using namespace weft;
using timeline::ActionKind;

bool SegmentKey::isOnce() const { return !timeline::isOfMicrobatch(kind); }

timeline::Action SegmentKey::action(int64_t microbatch) const {
  timeline::Action action{int32_t(stage), kind};
  if (isLevel())
    action.microbatch = int32_t(level);
  else if (!isOnce())
    action.microbatch = int32_t(microbatch);
  return action;
}

std::string SegmentKey::name() const {
  std::string name = std::to_string(stage) + std::string(nameOf(kind));
  return isLevel() ? name + std::to_string(level) : name;
}

int64_t PipelineSchedule::firstOfRole(int64_t stage) const {
  return llvm::find(placement, placement[stage]) - placement.begin();
}

bool PipelineSchedule::isBegunLate(int64_t stage) const {
  const timeline::Row &row = table.rows[roleOf(stage)];
  return !row.empty() && row.front().stage != stage;
}

bool PipelineSchedule::isDoneEarly(int64_t stage) const {
  const timeline::Row &row = table.rows[roleOf(stage)];
  return !row.empty() && row.back().stage != stage;
}

SegmentPlan::SegmentPlan(Block &block, const PipelineSchedule &schedule)
    : schedule(schedule), microbatches(block) {
  findPrologue(block);
  findCopied(block);
  findParameterGathers(block);
  findGathers(block);
  findWaitedFor(block);
  for (Operation &op : block.without_terminator())
    if (!isCopied(&op))
      assign(&op);
  delayUpdates(block);
}

/// Whether an op scales a value by a constant.
static bool isScale(Operation *op,
                    const llvm::DenseSet<Operation *> &constants) {
  return isa<arith::MulFOp, arith::DivFOp>(op) &&
         llvm::count_if(op->getOperands(), [&](Value operand) {
           return constants.contains(operand.getDefiningOp());
         }) == 1;
}

void SegmentPlan::findCopied(Block &block) {
  llvm::DenseSet<Operation *> constants;
  for (Operation &op : block.without_terminator()) {
    if (leavesMicrobatches(&op))
      continue;
    if (isa<ReshapeOp, TransposeOp, BroadcastOp, BarrierOp>(op) ||
        getBorder(&op))
      copied.insert(&op);
    if (!isPure(&op) || isa<CommunicationOpInterface>(op) || getBorder(&op))
      continue;
    if (llvm::all_of(op.getOperands(), [&](Value operand) {
          return constants.contains(operand.getDefiningOp());
        })) {
      constants.insert(&op);
      copied.insert(&op);
    }
    // A mean over micro-batches is not kept beside the sum.
    if (!microbatches.loopOf(&op) && !prologue.contains(&op) &&
        isScale(&op, constants))
      copied.insert(&op);
  }
}

/// What passes gather of parameters, and what is computed from that alone. If
/// the forward pass kept it for the backward pass, each micro-batch in flight
/// would keep it: it is gathered once a step, and kept once. What either of
/// them gathers for itself stays in the loop.
void SegmentPlan::findParameterGathers(Block &block) {
  llvm::SetVector<Operation *> found;
  // Copied ops of values that are the same for all micro-batches, and there in
  // front of them or gathered; what barriers wait for does not count.
  llvm::DenseSet<Operation *> given;
  auto isGiven = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !op || prologue.contains(op) || found.contains(op) ||
           given.contains(op);
  };
  for (Operation &op : block.without_terminator()) {
    if (isCopied(&op) && !isa<MicrobatchSliceOp>(op) &&
        llvm::all_of(computedFrom(&op), isGiven))
      given.insert(&op);
    if (!microbatches.loopOf(&op) || leavesMicrobatches(&op) || isCopied(&op))
      continue;
    auto collective = dyn_cast<CommunicationOpInterface>(op);
    bool gathers = collective && collective.isAllGather();
    bool follows =
        !collective && isPure(&op) && !isa<ProductOpInterface>(op) &&
        llvm::any_of(findSources(computedFrom(&op)),
                     [&](Operation *source) { return found.contains(source); });
    if ((gathers || follows) && llvm::all_of(computedFrom(&op), isGiven))
      found.insert(&op);
  }
  // Whether forward passes use an op, and whether others do.
  llvm::DenseMap<Operation *, std::pair<bool, bool>> usedBy;
  for (Operation *op : llvm::reverse(found)) {
    SmallVector<Operation *> users;
    (void)findUsers(op, users);
    auto &[forward, back] = usedBy[op];
    for (Operation *user : users) {
      auto known = usedBy.find(user);
      bool isForward = stagePassOf(getOrigin(user)) == StagePass::Forward;
      forward |= known == usedBy.end() ? isForward : known->second.first;
      back |= known == usedBy.end() ? !isForward : known->second.second;
    }
    if (forward && back)
      prologue.insert(op);
  }
  for (Operation *op : found)
    if (isa<CommunicationOpInterface>(op) && !prologue.contains(op)) {
      parameterGathers.insert(op);
      copied.insert(op);
    }
}

/// What the loop over micro-batches needs.
void SegmentPlan::findPrologue(Block &block) {
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (!microbatches.loopOf(&op) && !prologue.contains(&op))
      continue;
    for (Value operand : op.getOperands())
      if (Operation *definer = operand.getDefiningOp();
          definer && !microbatches.loopOf(definer))
        prologue.insert(definer);
  }
}

/// The stage whose micro-batches alone use an op of the prologue, of its own
/// role, which has all that the op is computed from; -1 if there is none.
/// `stages` has those of its users.
int64_t SegmentPlan::findOnlyStage(
    Operation *op, const llvm::DenseMap<Operation *, int64_t> &stages) const {
  SmallVector<Operation *> users;
  if (findUsers(op, users) || users.empty())
    return -1;
  auto stageOfUser = [&](Operation *user) {
    auto found = stages.find(user);
    return found != stages.end() ? found->second
           : isInLoop(user)      ? stageOf(getOrigin(user))
                                 : -1;
  };
  int64_t stage = stageOfUser(users.front());
  auto isOfRole = [&](Operation *other) {
    return schedule.roleOf(std::max<int64_t>(stageOf(getOrigin(other)), 0)) ==
           schedule.roleOf(stage);
  };
  return stage >= 0 && isOfRole(op) &&
                 llvm::all_of(users,
                              [&](Operation *user) {
                                return stageOfUser(user) == stage;
                              }) &&
                 llvm::all_of(findSources(computedFrom(op)), isOfRole)
             ? stage
             : -1;
}

/// What a stage that is begun late can gather beside those before it: the
/// collectives that it alone needs, what is computed from them, and what these
/// alone are computed from.
void SegmentPlan::findGathers(Block &block) {
  llvm::DenseMap<Operation *, int64_t> stages;
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (prologue.contains(&op) && !isCopied(&op))
      if (int64_t stage = findOnlyStage(&op, stages);
          stage >= 0 && schedule.isBegunLate(stage))
        stages[&op] = stage;
  auto isGather = [&](Operation *op) { return gathers.contains(op); };
  for (Operation &op : block.without_terminator())
    if (stages.contains(&op) &&
        (isa<CommunicationOpInterface>(op) ||
         llvm::any_of(findSources(computedFrom(&op)), isGather)))
      gathers[&op] = stages.at(&op);
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    SmallVector<Operation *> users;
    if (stages.contains(&op) && !findUsers(&op, users) &&
        llvm::all_of(users, isGather))
      gathers[&op] = stages.at(&op);
  }
}

/// A reshard that several ops share is of the pass of the first of them.
void SegmentPlan::findWaitedFor(Block &block) {
  auto isLast = [&](Operation *op) {
    return stagePassOf(getOrigin(op)) == StagePass::WeightGradient &&
           !waitedFor.contains(op);
  };
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (!isInLoop(&op) || leavesMicrobatches(&op) || isCopied(&op) ||
        !isLast(&op))
      continue;
    SmallVector<Operation *> users;
    (void)findUsers(&op, users);
    if (llvm::any_of(users, [&](Operation *user) {
          return !isLast(user) ||
                 stageOf(getOrigin(user)) != stageOf(getOrigin(&op));
        }))
      waitedFor.insert(&op);
  }
}

SmallVector<Operation *> SegmentPlan::findSources(ValueRange values) const {
  SmallVector<Operation *> sources;
  // Random numbers are computed from each other in many ways.
  llvm::DenseSet<Operation *> seen;
  auto visit = [&](auto &visit, ValueRange values) -> void {
    for (Value value : values) {
      Operation *definer = value.getDefiningOp();
      if (!definer || !seen.insert(definer).second)
        continue;
      if (isCopied(definer))
        visit(visit, definer->getOperands());
      else
        sources.push_back(definer);
    }
  };
  visit(visit, values);
  return sources;
}

int64_t SegmentPlan::levelOf(Operation *op, int64_t stage,
                             ActionKind kind) const {
  int64_t level = 0;
  for (Operation *source : findSources(computedFrom(op))) {
    const SegmentKey &from = keys.at(source);
    bool isHere = schedule.roleOf(from.stage) == schedule.roleOf(stage);
    if (from.kind == kind)
      level = std::max(level, from.level + !isHere);
    else if (leavesMicrobatches(source))
      level = std::max<int64_t>(level, !isHere);
  }
  return level;
}

/// Lets updates wait for the level that needs them: what one level leaves for
/// another takes memory. Only what other roles wait for is computed at once, or
/// the sums over devices of one role would begin when those before it end.
void SegmentPlan::delayUpdates(Block &block) {
  llvm::DenseSet<Operation *> awaited;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    auto found = keys.find(&op);
    if (found == keys.end() || found->second.kind != ActionKind::Update)
      continue;
    SmallVector<Operation *> users;
    bool isReturned = findUsers(&op, users);
    int64_t latest = std::numeric_limits<int64_t>::max();
    for (Operation *user : users) {
      const SegmentKey &to = keys.at(user);
      bool isHere = to.stage == found->second.stage;
      latest = std::min(latest, to.level);
      if (!isHere || awaited.contains(user))
        awaited.insert(&op);
    }
    if (!isReturned && !users.empty() && !awaited.contains(&op))
      found->second.level = std::max(found->second.level, latest);
  }
}

/// Who uses an op, seen through copied ones; whether one is the return.
bool SegmentPlan::findUsers(Operation *op,
                            SmallVectorImpl<Operation *> &users) const {
  bool isReturned = false;
  for (Operation *user : op->getUsers()) {
    if (isCopied(user))
      isReturned |= findUsers(user, users);
    else if (user->hasTrait<OpTrait::IsTerminator>())
      isReturned = true;
    else
      users.push_back(user);
  }
  return isReturned;
}

/// The stage whose gradients an op of a role reduces over devices, as the
/// micro-batches have left them and for the update of the role alone; -1 if
/// there is none.
int64_t SegmentPlan::reducedStage(Operation *op, int64_t role) const {
  auto collective = dyn_cast<CommunicationOpInterface>(op);
  if (!collective || !collective.isReduction())
    return -1;
  std::set<int64_t> stages;
  for (Operation *source : findSources(op->getOperands())) {
    const SegmentKey &from = keys.at(source);
    bool isGradient =
        leavesMicrobatches(source) && from.kind != ActionKind::Forward;
    if (!isGradient && from.kind != ActionKind::ReduceGradient)
      return -1;
    stages.insert(from.stage);
  }
  SmallVector<Operation *> users;
  (void)findUsers(op, users);
  auto isOfRole = [&](Operation *user) {
    return schedule.roleOf(std::max<int64_t>(stageOf(getOrigin(user)), 0)) ==
           role;
  };
  return stages.size() == 1 && schedule.roleOf(*stages.begin()) == role &&
                 llvm::all_of(users, isOfRole)
             ? *stages.begin()
             : -1;
}

void SegmentPlan::assign(Operation *op) {
  int64_t stage = std::max<int64_t>(stageOf(getOrigin(op)), 0);
  if (isInLoop(op) || leavesMicrobatches(op)) {
    ActionKind kind = ActionKind::Forward;
    if (StagePass pass = stagePassOf(getOrigin(op));
        pass == StagePass::InputGradient || pass == StagePass::WeightGradient)
      kind = schedule.isMerged[stage] ? ActionKind::Backward
             : pass == StagePass::InputGradient || waitedFor.contains(op)
                 ? ActionKind::InputGradient
                 : ActionKind::WeightGradient;
    keys[op] = {stage, kind, 0};
    return;
  }
  if (auto gathered = gathers.find(op); gathered != gathers.end()) {
    keys[op] = {gathered->second, ActionKind::Unshard, 0};
    return;
  }
  if (int64_t reduced = reducedStage(op, schedule.roleOf(stage));
      reduced >= 0 && schedule.isDoneEarly(reduced)) {
    keys[op] = {reduced, ActionKind::ReduceGradient, 0};
    return;
  }
  stage = schedule.firstOfRole(stage);
  ActionKind kind =
      prologue.contains(op) ? ActionKind::Prologue : ActionKind::Update;
  keys[op] = {stage, kind, levelOf(op, stage, kind)};
}
