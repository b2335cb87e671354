//===- GradientPasses.cpp - Input gradients and weight gradients ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of what a stage computes from cotangents, the cotangents that other stages
// wait for come first; all else can wait (Qi et al. 2024, Zero Bubble Pipeline
// Parallelism, section 2). No stage waits for the first one: there, what
// several gradients are computed from comes first.
//
//===----------------------------------------------------------------------===//

#include "LoopRegions.h"
#include "Stages.h"

#include "weft/IR/Origin.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace weft;

namespace {

class PassFinder {
public:
  PassFinder(Block &block, Stages &stages) : block(block), stages(stages) {}

  void run();

private:
  void findGradients();
  void findForwardOfLast(llvm::DenseSet<Operation *> &forward) const;
  bool isWaitedFor(Operation *op) const;
  void findInputGradients(ArrayRef<Operation *> ops);
  StagePass passOfOther(Operation *op) const;

  Block &block;
  Stages &stages;
};

} // namespace

/// In the last stage no boundary tells the way back: forward is what results
/// other than gradients are computed from. Those of other stages that are
/// computed from cotangents are gradients, or pieces of them.
void PassFinder::findForwardOfLast(llvm::DenseSet<Operation *> &forward) const {
  for (Operation &op : llvm::reverse(block)) {
    if (!stages.isInLoop(&op))
      continue;
    bool isNeeded = llvm::any_of(
        op.getUsers(), [&](Operation *user) { return forward.contains(user); });
    if (isNeeded || (leavesMicrobatches(&op) && !isGradientSum(&op) &&
                     !stages.gradients.lookup(&op)))
      forward.insert(&op);
  }
}

void PassFinder::findGradients() {
  llvm::DenseSet<Operation *> forward;
  findForwardOfLast(forward);
  for (Operation &op : block) {
    if (!stages.isInLoop(&op) || isa<StageBoundaryOp>(op))
      continue;
    OriginAttr origin = getOrigin(&op);
    bool isLast = stages.of.at(&op) == stages.only(stages.count - 1);
    auto isGradient = [&](Value value) {
      return stages.gradients.lookup(value.getDefiningOp());
    };
    stages.gradients[&op] |= isBackward(origin) || isRecomputed(origin) ||
                             (isLast && !forward.contains(&op)) ||
                             llvm::any_of(op.getOperands(), isGradient);
  }
}

/// Whether another stage uses a result.
bool PassFinder::isWaitedFor(Operation *op) const {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    return isa<StageBoundaryOp>(user) ||
           (stages.isInLoop(user) && stages.of.at(user) != stages.of.at(op));
  });
}

/// Of what one stage computes of gradients, in order.
void PassFinder::findInputGradients(ArrayRef<Operation *> ops) {
  bool hasWaiting =
      llvm::any_of(ops, [&](Operation *op) { return isWaitedFor(op); });
  // The sums that are computed from an op: that one, or `several`.
  llvm::DenseMap<Operation *, Operation *> sums;
  Operation *const several = block.getTerminator();
  llvm::SmallPtrSet<Operation *, 32> first;
  for (Operation *op : llvm::reverse(ops)) {
    Operation *&sum = sums[op];
    sum = leavesMicrobatches(op) ? op : nullptr;
    bool isNeeded = isWaitedFor(op);
    for (Operation *user : op->getUsers()) {
      isNeeded |= first.contains(user);
      if (Operation *other = sums.lookup(user); other && other != sum)
        sum = sum ? several : other;
    }
    if (isNeeded || (!hasWaiting && sum == several))
      first.insert(op);
    stages.passes[op] = first.contains(op) ? StagePass::InputGradient
                                           : StagePass::WeightGradient;
  }
}

/// That of the first pass that uses it, if it is no work of the forward pass.
StagePass PassFinder::passOfOther(Operation *op) const {
  bool isWork = stages.of.at(op).count() == 1 &&
                (!getBorder(op) || leavesMicrobatches(op));
  if (isWork || op->use_empty())
    return StagePass::Forward;
  StagePass pass = StagePass::WeightGradient;
  for (Operation *user : op->getUsers())
    pass = std::min(pass, isa<StageBoundaryOp>(user) ? StagePass::Forward
                                                     : stages.passes.at(user));
  return pass;
}

void PassFinder::run() {
  findGradients();
  // All stages at once: a model that is cut wherever it can be has hundreds.
  std::vector<SmallVector<Operation *>> ofStages(stages.count);
  for (Operation &op : block)
    if (stages.isInLoop(&op) && !isa<StageBoundaryOp>(op) &&
        stages.gradients.lookup(&op))
      for (unsigned stage : stages.of.at(&op).set_bits())
        ofStages[stage].push_back(&op);
  for (ArrayRef<Operation *> ops : ofStages)
    findInputGradients(ops);
  for (Operation &op : llvm::reverse(block))
    if (stages.isInLoop(&op) && !isa<StageBoundaryOp>(op) &&
        !stages.passes.contains(&op))
      stages.passes[&op] = passOfOther(&op);
}

void weft::findPasses(Block &block, Stages &stages) {
  PassFinder(block, stages).run();
}
