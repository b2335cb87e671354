//===- ChainRegions.cpp - A differentiated function as a chain ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainRegions.h"

#include "Activity.h"

using namespace mlir;
using namespace weft;

bool weft::isConstantExpression(Value value) {
  Operation *op = value.getDefiningOp();
  return op && llvm::all_of(op->getOperands(), isConstantExpression);
}

/// Whether single ops make the value of one argument: a parameter in another
/// type, say.
static bool isOfOneArgument(Value value) {
  Operation *op = value.getDefiningOp();
  return !op ||
         (op->getNumOperands() == 1 && isOfOneArgument(op->getOperand(0)));
}

static bool isHeavy(Operation *op) {
  return isa<DotGeneralOp, CheckpointOp>(op);
}

namespace {

/// What is alive between two ops of the function.
struct Cut {
  int64_t values = 0, bytes = 0;
};

} // namespace

/// The cut before each op; `cuts[i]` is before op `i`.
static std::vector<Cut> findCuts(ArrayRef<Operation *> ops,
                                 const Activity &activity) {
  DenseMap<Operation *, size_t> positions;
  for (auto [position, op] : llvm::enumerate(ops))
    positions[op] = position;
  // As differences first.
  std::vector<Cut> cuts(ops.size() + 2);
  for (auto [position, op] : llvm::enumerate(ops))
    for (Value result : op->getResults()) {
      if (!activity.isActive(result) || isOfOneArgument(result))
        continue;
      size_t last = position;
      for (Operation *user : result.getUsers()) {
        auto it = positions.find(user);
        last = std::max(last, it == positions.end() ? ops.size() : it->second);
      }
      auto type = cast<RankedTensorType>(result.getType());
      int64_t bytes =
          type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
      cuts[position + 1].values += 1;
      cuts[position + 1].bytes += bytes;
      cuts[last + 1].values -= 1;
      cuts[last + 1].bytes -= bytes;
    }
  for (size_t i = 1; i < cuts.size(); ++i) {
    cuts[i].values += cuts[i - 1].values;
    cuts[i].bytes += cuts[i - 1].bytes;
  }
  return cuts;
}

/// Where regions begin, but the first one. Of several points between two heavy
/// ops the one with the smallest value is taken, the last if they are equal.
static std::vector<size_t> chooseCuts(ArrayRef<Operation *> ops,
                                      const std::vector<Cut> &cuts) {
  std::vector<size_t> chosen;
  std::optional<size_t> best;
  bool hasHeavy = false;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (hasHeavy && cuts[i].values == 1 &&
        (!best || cuts[i].bytes <= cuts[*best].bytes))
      best = i;
    if (!isHeavy(ops[i]))
      continue;
    if (best)
      chosen.push_back(*best);
    best.reset();
    hasHeavy = true;
  }
  return chosen;
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
  std::vector<size_t> cuts = chooseCuts(ops, findCuts(ops, activity));
  cuts.push_back(ops.size());
  for (size_t end : cuts) {
    regions.emplace_back(ops.begin() + begin, ops.begin() + end);
    begin = end;
  }
  return regions;
}
