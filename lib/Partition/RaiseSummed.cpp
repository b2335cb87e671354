//===- RaiseSummed.cpp - What is done to partial sums ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseSummed.h"

#include "BranchOrder.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace weft;

/// What takes the place of a value that nothing else reads: it holds no more
/// where it is raised.
static bool canBeRaised(Operation *op, Block &block) {
  return op && op->getBlock() == &block && op->hasOneUse() && canMove(op) &&
         OpTrait::hasElementwiseMappableTraits(op) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           Operation *producer = operand.getDefiningOp();
           return producer && producer->getBlock() == &block &&
                  !producer->hasTrait<OpTrait::ConstantLike>() &&
                  operand.hasOneUse() &&
                  bytesOf(operand) >= bytesOf(op->getResult(0));
         });
}

void weft::raiseSummed(Block &block) {
  std::vector<Operation *> ops;
  /// From one on; where an op comes to stand that is raised: behind the op of
  /// the number.
  DenseMap<Operation *, size_t> numbers, anchors;
  for (Operation &op : block.without_terminator()) {
    ops.push_back(&op);
    numbers[&op] = ops.size();
    if (!canBeRaised(&op, block))
      continue;
    size_t &anchor = anchors[&op];
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getBlock() == &block &&
          !producer->hasTrait<OpTrait::ConstantLike>()) {
        auto raised = anchors.find(producer);
        anchor = std::max(anchor, raised == anchors.end() ? numbers.at(producer)
                                                          : raised->second);
      }
  }
  DenseSet<Operation *> moving;
  auto move = [&](Value operand) {
    Operation *producer = operand.getDefiningOp();
    if (anchors.contains(producer) ||
        (producer && producer->getBlock() == &block &&
         producer->hasTrait<OpTrait::ConstantLike>()))
      moving.insert(producer);
  };
  for (Operation *op : llvm::reverse(ops)) {
    auto collective = dyn_cast<CommunicationOpInterface>(op);
    if (collective && collective.canCombine() && collective.isAllReduce() &&
        canBeRaised(op->getOperand(0).getDefiningOp(), block))
      move(op->getOperand(0));
    if (moving.contains(op))
      llvm::for_each(op->getOperands(), move);
  }
  std::vector<SmallVector<Operation *, 1>> behind(ops.size() + 1);
  for (Operation *op : ops)
    if (moving.contains(op))
      behind[anchors.lookup(op)].push_back(op);
  for (size_t anchor = ops.size() + 1; anchor-- > 0;)
    for (Operation *op : llvm::reverse(behind[anchor]))
      if (anchor > 0)
        op->moveAfter(ops[anchor - 1]);
      else if (op != &block.front())
        op->moveBefore(&block.front());
}
