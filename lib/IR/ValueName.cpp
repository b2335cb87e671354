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

std::string weft::nameOf(Value value) {
  if (Operation *op = value.getDefiningOp();
      isa_and_present<BarrierOp, MicrobatchUseOp>(op))
    return nameOf(op->getOperand(0));
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
