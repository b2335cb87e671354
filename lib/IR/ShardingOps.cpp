//===- ShardingOps.cpp - Constraint and reshard ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

static LogicalResult verifySharding(Operation *op, ShardingAttr sharding,
                                    RankedTensorType type) {
  std::vector<std::string> problems =
      checkShardingAttr(op, sharding, type.getRank());
  for (const std::string &problem : problems)
    op->emitOpError("sharding: ") << problem;
  return success(problems.empty());
}

LogicalResult ConstraintOp::verify() {
  return verifySharding(*this, getSharding(), getType());
}

LogicalResult ReshardOp::verify() {
  return verifySharding(*this, getSharding(), getType());
}
