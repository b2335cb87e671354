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
  return isa<ProductOpInterface, CheckpointOp>(op);
}

namespace {

/// What is alive between two ops.
struct Alive {
  int64_t values = 0, bytes = 0;

  Alive &operator+=(const Alive &other) {
    values += other.values;
    bytes += other.bytes;
    return *this;
  }
};

struct Cut {
  /// What counts, and what does not but takes a matmul.
  Alive counted, frozen;

  const Alive &alive() const { return counted.values ? counted : frozen; }
};

} // namespace

/// The last op that uses a value, by its position.
static size_t
findLastUse(Value value, size_t made, size_t end,
            const llvm::DenseMap<Operation *, size_t> &positions) {
  size_t last = made;
  for (Operation *user : value.getUsers()) {
    auto it = positions.find(user);
    if (it != positions.end())
      last = std::max(last, it->second);
    else if (user->hasTrait<OpTrait::IsTerminator>())
      last = end;
  }
  return last;
}

/// The cut before each op; `cuts[i]` is before op `i`.
static std::vector<Cut> findCuts(ArrayRef<Operation *> ops,
                                 llvm::function_ref<bool(Value)> counts) {
  llvm::DenseMap<Operation *, size_t> positions;
  for (auto [position, op] : llvm::enumerate(ops))
    positions[op] = position;
  // As differences first.
  std::vector<Cut> cuts(ops.size() + 2);
  llvm::DenseSet<Operation *> behindMatmuls;
  for (auto [position, op] : llvm::enumerate(ops)) {
    if (isHeavy(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
          return behindMatmuls.contains(operand.getDefiningOp());
        }))
      behindMatmuls.insert(op);
    for (Value result : op->getResults()) {
      bool isCounted = counts(result);
      if ((!isCounted && !behindMatmuls.contains(op)) ||
          isOfOneArgument(result))
        continue;
      size_t last = findLastUse(result, position, ops.size(), positions);
      int64_t bytes = bytesOf(result);
      Alive Cut::*alive = isCounted ? &Cut::counted : &Cut::frozen;
      cuts[position + 1].*alive += {1, bytes};
      cuts[last + 1].*alive += {-1, -bytes};
    }
  }
  for (size_t i = 1; i < cuts.size(); ++i) {
    cuts[i].counted += cuts[i - 1].counted;
    cuts[i].frozen += cuts[i - 1].frozen;
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
    if (hasHeavy && cuts[i].alive().values == 1 &&
        (!best || cuts[i].alive().bytes <= cuts[*best].alive().bytes))
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
