//===- ValueName.cpp - What users call a value ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/ValueName.h"

#include "weft/IR/SourceLocation.h"
#include "weft/IR/ValueSharding.h"

using namespace mlir;
using namespace weft;

std::string weft::nameOf(Operation *op) {
  std::string name = op->getName().getStringRef().str();
  std::string text = locationText(op->getLoc());
  return text.empty() ? name : name + " (" + text + ")";
}

/// The value that a barrier, or a use in a micro-batch, hands on.
static Value handedOn(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_present<BarrierOp, MicrobatchUseOp>(op)
             ? handedOn(op->getOperand(0))
             : value;
}

std::string weft::nameOf(Value value) {
  value = handedOn(value);
  if (Operation *op = value.getDefiningOp())
    return nameOf(op);
  auto argument = cast<BlockArgument>(value);
  auto function =
      dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function)
    return "argument " + std::to_string(argument.getArgNumber());
  return "\"" + getArgumentName(function, argument.getArgNumber()) + "\"";
}

std::string weft::nameOfResult(func::FuncOp function, unsigned index) {
  return "result \"" + getResultName(function, index) + "\"";
}

std::string weft::nameOf(OpOperand &use) {
  if (auto ret = dyn_cast<func::ReturnOp>(use.getOwner()))
    return nameOfResult(ret->getParentOfType<func::FuncOp>(),
                        use.getOperandNumber());
  return nameOf(use.getOwner());
}

std::string weft::nameOfUser(OpOperand &use, Value source) {
  Operation *user = use.getOwner(), *op = handedOn(source).getDefiningOp();
  if (!op || isa<func::ReturnOp>(user))
    return nameOf(use);
  std::string text = locationText(user->getLoc());
  return text.empty() || text != locationText(op->getLoc())
             ? nameOf(use)
             : user->getName().getStringRef().str() + " there";
}
