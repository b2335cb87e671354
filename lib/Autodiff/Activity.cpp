//===- Activity.cpp - Which values have cotangents ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Activity.h"

#include "weft/IR/VjpBuilder.h"
#include "weft/IR/VjpOpInterface.h"

using namespace mlir;
using namespace weft;

/// Whether a change of the operand changes results of its user.
static bool isSteep(OpOperand &use) {
  if (!carriesCotangent(use.get().getType()))
    return false;
  auto vjp = dyn_cast<VjpOpInterface>(use.getOwner());
  return !vjp || !vjp.isFlatIn(use.getOperandNumber());
}

static bool isIn(const DenseSet<Value> &set, Value value) {
  return set.contains(value) && carriesCotangent(value.getType());
}

/// The values that change with the arguments.
static DenseSet<Value> findDependent(Block &body,
                                     const llvm::SmallBitVector &arguments) {
  DenseSet<Value> dependent;
  for (unsigned index : arguments.set_bits())
    dependent.insert(body.getArgument(index));
  for (Operation &op : body.without_terminator())
    if (llvm::any_of(op.getOpOperands(), [&](OpOperand &use) {
          return isIn(dependent, use.get()) && isSteep(use);
        }))
      dependent.insert_range(op.getResults());
  return dependent;
}

/// The values that change the results.
static DenseSet<Value> findReaching(Block &body,
                                    const llvm::SmallBitVector &results) {
  DenseSet<Value> reaching;
  for (unsigned index : results.set_bits())
    reaching.insert(body.getTerminator()->getOperand(index));
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (llvm::any_of(op.getResults(),
                     [&](Value result) { return isIn(reaching, result); }))
      for (OpOperand &use : op.getOpOperands())
        if (isSteep(use))
          reaching.insert(use.get());
  return reaching;
}

Activity::Activity(func::FuncOp function, const llvm::SmallBitVector &arguments,
                   const llvm::SmallBitVector &results) {
  Block &body = function.getBody().front();
  DenseSet<Value> reaching = findReaching(body, results);
  for (Value value : findDependent(body, arguments))
    if (isIn(reaching, value))
      active.insert(value);
  for (Operation &op : body.without_terminator())
    if (llvm::any_of(op.getResults(),
                     [&](Value result) { return active.contains(result); }) &&
        llvm::any_of(op.getOpOperands(),
                     [&](OpOperand &use) { return isActive(use); }))
      ops.push_back(&op);
}

bool Activity::isActive(OpOperand &use) const {
  return active.contains(use.get()) && isSteep(use);
}
