//===- BranchOrder.h - Collectives of branches side by side -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program has the branches of a residual block one behind the other, and so
// the statistics of their norms. What the sum of the second branch is made of
// moves up in front of that of the first, so that one call can take both.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_BRANCHORDER_H
#define WEFT_LIB_PARTITION_BRANCHORDER_H

#include "weft/Cost/CostModel.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace weft {

/// Whether an op can stand elsewhere if what it takes and gives is there.
bool canMove(mlir::Operation *op);

/// What may become one call with others of the same number.
struct BranchEnd {
  mlir::Operation *collective;
  unsigned kind;
  /// What the branch may take, which else would hide the collective in front of
  /// which it moves.
  double mostSeconds;
};

/// Moves up what collectives of a block are made of: a few quick ops each, in
/// front of the first collective of the same kind that they do not need. `ends`
/// are in program order.
void raiseBranches(mlir::Block &block, llvm::ArrayRef<BranchEnd> ends,
                   const cost::CostModel &model);

} // namespace weft

#endif // WEFT_LIB_PARTITION_BRANCHORDER_H
