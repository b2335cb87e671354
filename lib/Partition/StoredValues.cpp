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

bool StoredValues::contains(Value value) {
  Operation *producer = value.getDefiningOp();
  if (!producer || standsAlone(producer) ||
      isa<CommunicationOpInterface>(producer))
    return true;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  const bool isStored = llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->getBlock() != producer->getBlock())
      return true;
    if (Value view = viewOf(use))
      return contains(view);
    return standsAlone(user) || isa<CommunicationOpInterface>(user) ||
           user->hasTrait<OpTrait::IsTerminator>();
  });
  return known[value] = isStored;
}
