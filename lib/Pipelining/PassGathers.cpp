//===- PassGathers.cpp - What is gathered ahead of a pass -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassGathers.h"

#include "Stages.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft;
using timeline::ActionKind;

static bool isMatmul(Operation *op) {
  return isa<ProductOpInterface, AttentionOp, AttentionGradOp>(op);
}

/// Weight gradients need no parameters.
static bool isPass(const SegmentKey &key) {
  return key.kind == ActionKind::Forward || key.kind == ActionKind::Backward ||
         key.kind == ActionKind::InputGradient;
}

/// In the order of the ops: from the first matmul on that takes the result of
/// another one, a pass has something to gather beside.
PassGathers::PassGathers(Block &block, const SegmentPlan &plan) : plan(plan) {
  // How many matmuls of its pass an op is computed from, one behind the other.
  llvm::DenseMap<Operation *, int64_t> depths;
  std::set<SegmentKey> begun;
  for (Operation &op : block.without_terminator()) {
    if (plan.isCopied(&op) || leavesMicrobatches(&op) || !isPass(plan.of(&op)))
      continue;
    const SegmentKey &pass = plan.of(&op);
    if (begun.count(pass))
      continue;
    int64_t &depth = depths[&op];
    for (Operation *source : plan.findSources(computedFrom(&op)))
      if (plan.of(source) == pass)
        depth = std::max(depth, depths.lookup(source));
    depth += isMatmul(&op);
    if (isMatmul(&op) && depth > 1)
      begun.insert(pass);
    else if (depth <= 1)
      addGathers(&op, pass);
  }
}

void PassGathers::addGathers(Operation *user, const SegmentKey &pass) {
  // Random numbers are computed from each other in many ways.
  llvm::SetVector<Operation *> seen;
  seen.insert(user);
  for (size_t i = 0; i < seen.size(); ++i)
    for (Value operand : computedFrom(seen[i])) {
      Operation *op = operand.getDefiningOp();
      if (op && plan.isParameterGather(op))
        ahead[pass].insert(op);
      else if (op && plan.isCopied(op))
        seen.insert(op);
    }
}

std::optional<SegmentKey> PassGathers::segmentOf(Operation *op,
                                                 const SegmentKey &pass) const {
  auto found = ahead.find(pass);
  if (found == ahead.end() || !found->second.contains(op))
    return std::nullopt;
  return SegmentKey{pass.stage,
                    pass.kind == ActionKind::Forward
                        ? ActionKind::UnshardForward
                        : ActionKind::UnshardBackward,
                    0};
}
