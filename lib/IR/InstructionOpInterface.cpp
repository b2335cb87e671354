//===- InstructionOpInterface.cpp - A step of a schedule ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/InstructionOpInterface.h"

#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

#include "weft/IR/InstructionOpInterface.cpp.inc"

bool weft::isView(Operation *op) {
  return isa_and_present<BarrierOp, ReshapeOp, WaitOp>(op);
}

bool weft::isOnlyWaitedFor(OpOperand &use) {
  return isa<BarrierOp>(use.getOwner()) && use.getOperandNumber() != 0;
}

bool weft::usesBuffers(Operation *op) {
  return isa<InstructionOpInterface, CommunicationOpInterface>(op);
}

bool weft::isStart(Operation *op) {
  auto instruction = dyn_cast<InstructionOpInterface>(op);
  return instruction && instruction.isStart();
}
