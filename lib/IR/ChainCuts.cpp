//===- ChainCuts.cpp - Where a model can be cut in two --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/ChainCuts.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

bool weft::isOfOneArgument(Value value) {
  Operation *op = value.getDefiningOp();
  return !op ||
         (op->getNumOperands() == 1 && isOfOneArgument(op->getOperand(0)));
}

static bool isHeavy(Operation *op) {
  return isa<DotGeneralOp, CheckpointOp>(op);
}

namespace {

/// What is alive between two ops.
struct Cut {
  int64_t values = 0, bytes = 0;
};

} // namespace

/// The cut before each op; `cuts[i]` is before op `i`.
static std::vector<Cut> findCuts(ArrayRef<Operation *> ops,
                                 llvm::function_ref<bool(Value)> counts) {
  DenseMap<Operation *, size_t> positions;
  for (auto [position, op] : llvm::enumerate(ops))
    positions[op] = position;
  // As differences first.
  std::vector<Cut> cuts(ops.size() + 2);
  for (auto [position, op] : llvm::enumerate(ops))
    for (Value result : op->getResults()) {
      if (!counts(result) || isOfOneArgument(result))
        continue;
      size_t last = position;
      for (Operation *user : result.getUsers()) {
        auto it = positions.find(user);
        if (it != positions.end())
          last = std::max(last, it->second);
        else if (user->hasTrait<OpTrait::IsTerminator>())
          last = ops.size();
      }
      int64_t bytes = bytesOf(result);
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

std::vector<size_t> weft::cutChain(ArrayRef<Operation *> ops,
                                   llvm::function_ref<bool(Value)> counts) {
  std::vector<Cut> cuts = findCuts(ops, counts);
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
