//===- StoredValues.cpp - What is written to memory -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoredValues.h"

#include "weft/IR/InstructionOpInterface.h"
#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

bool weft::standsAlone(Operation *op) {
  return isa<ProductOpInterface, AttentionOp, AttentionGradOp, RepeatOp>(op);
}

Value weft::viewOf(OpOperand &use) {
  Operation *user = use.getOwner();
  return isView(user) && use.getOperandNumber() == 0 ? user->getResult(0)
                                                     : Value();
}

StoredValues::StoredValues(Block &block) {
  auto usesMemory = [](Operation *op) {
    return standsAlone(op) || isa<CommunicationOpInterface>(op);
  };
  auto readsMemory = [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->getBlock() != &block)
      return true;
    if (Value view = viewOf(use))
      return contains(view);
    return usesMemory(user) || user->hasTrait<OpTrait::IsTerminator>();
  };
  // A view is known before what it is of.
  for (Operation &op : llvm::reverse(block))
    if (!usesMemory(&op))
      for (Value result : op.getResults())
        if (llvm::none_of(result.getUses(), readsMemory))
          inKernels.insert(result);
}
