//===- ChainRegions.cpp - A differentiated function as a chain ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainRegions.h"

#include "Activity.h"

#include "weft/IR/ChainCuts.h"

using namespace mlir;
using namespace weft;

bool weft::isConstantExpression(Value value) {
  Operation *op = value.getDefiningOp();
  return op && llvm::all_of(op->getOperands(), isConstantExpression);
}

std::vector<CheckpointRegion> weft::findRegions(ValueAndGradOp gradient,
                                                func::FuncOp function) {
  llvm::SmallBitVector arguments(function.getNumArguments());
  for (int64_t index : gradient.getWrt())
    arguments.set(index);
  llvm::SmallBitVector results(function.getNumResults());
  results.set(0);
  Activity activity(function, arguments, results);
  std::vector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator())
    ops.push_back(&op);
  std::vector<CheckpointRegion> regions;
  size_t begin = 0;
  std::vector<size_t> cuts =
      cutChain(ops, [&](Value value) { return activity.isActive(value); });
  cuts.push_back(ops.size());
  for (size_t end : cuts) {
    regions.emplace_back(ops.begin() + begin, ops.begin() + end);
    begin = end;
  }
  return regions;
}
