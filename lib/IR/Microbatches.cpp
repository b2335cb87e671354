//===- Microbatches.cpp - What a loop over micro-batches holds ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/Microbatches.h"

#include "weft/IR/WeftOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;

MicrobatchesAttr weft::getBorder(Operation *op) {
  return llvm::TypeSwitch<Operation *, MicrobatchesAttr>(op)
      .Case<MicrobatchSliceOp, MicrobatchUseOp, MicrobatchSumOp,
            MicrobatchStackOp>([](auto op) { return op.getMicrobatches(); })
      .Default(MicrobatchesAttr());
}

bool weft::leavesMicrobatches(Operation *op) {
  return isa<MicrobatchSumOp, MicrobatchStackOp>(op);
}

Microbatches::Microbatches(Block &block) {
  for (Operation &op : block) {
    MicrobatchesAttr loop = getBorder(&op);
    if (loop && !llvm::is_contained(loops, loop))
      loops.push_back(loop);
    auto addOperands = [&](Operation *of) {
      for (Value operand : of->getOperands())
        loop = loop ? loop : loopOf(operand);
    };
    addOperands(&op);
    // What the ops of a loop of form 3 use, the loop does.
    for (Region &region : op.getRegions())
      region.walk(addOperands);
    if (loop)
      loopOfOp[&op] = loop;
  }
}

MicrobatchesAttr Microbatches::loopOf(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && !leavesMicrobatches(op) ? loopOf(op) : MicrobatchesAttr();
}
