//===- SegmentPlan.cpp - Which segment computes each op -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SegmentPlan.h"

#include "Stages.h"

#include "weft/IR/Origin.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace weft;
using timeline::ActionKind;

bool SegmentKey::isOnce() const {
  return kind == ActionKind::Prologue || kind == ActionKind::Update;
}

timeline::Action SegmentKey::action(int64_t microbatch) const {
  return {int32_t(stage), kind, int32_t(isOnce() ? level : microbatch)};
}

std::string SegmentKey::name() const {
  std::string name = std::to_string(stage) + std::string(nameOf(kind));
  return isOnce() ? name + std::to_string(level) : name;
}

int64_t PipelineSchedule::firstOfRole(int64_t stage) const {
  return llvm::find(placement, placement[stage]) - placement.begin();
}

SegmentPlan::SegmentPlan(Block &block, const PipelineSchedule &schedule)
    : schedule(schedule), microbatches(block) {
  findCopied(block);
  findPrologue(block);
  for (Operation &op : block.without_terminator())
    if (!isCopied(&op))
      assign(&op);
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

/// What a copied op is computed from, its operands seen through others.
static void findSources(Value value, const SegmentPlan &plan,
                        SmallVectorImpl<Operation *> &sources) {
  Operation *definer = value.getDefiningOp();
  if (!definer)
    return;
  if (!plan.isCopied(definer)) {
    sources.push_back(definer);
    return;
  }
  for (Value operand : definer->getOperands())
    findSources(operand, plan, sources);
}

int64_t SegmentPlan::levelOf(Operation *op, int64_t stage,
                             ActionKind kind) const {
  SmallVector<Operation *> sources;
  for (Value operand : computedFrom(op))
    findSources(operand, *this, sources);
  int64_t level = 0;
  for (Operation *source : sources) {
    const SegmentKey &from = keys.at(source);
    bool isHere = schedule.roleOf(from.stage) == schedule.roleOf(stage);
    if (from.kind == kind)
      level = std::max(level, from.level + !isHere);
    else if (leavesMicrobatches(source))
      level = std::max<int64_t>(level, !isHere);
  }
  return level;
}

void SegmentPlan::assign(Operation *op) {
  int64_t stage = std::max<int64_t>(stageOf(getOrigin(op)), 0);
  if (microbatches.loopOf(op) || leavesMicrobatches(op)) {
    ActionKind kind = ActionKind::Forward;
    if (StagePass pass = stagePassOf(getOrigin(op));
        pass == StagePass::InputGradient || pass == StagePass::WeightGradient)
      kind = schedule.isMerged[stage]           ? ActionKind::Backward
             : pass == StagePass::InputGradient ? ActionKind::InputGradient
                                                : ActionKind::WeightGradient;
    keys[op] = {stage, kind, 0};
    return;
  }
  stage = schedule.firstOfRole(stage);
  ActionKind kind =
      prologue.contains(op) ? ActionKind::Prologue : ActionKind::Update;
  keys[op] = {stage, kind, levelOf(op, stage, kind)};
}
