//===- PieceTimes.h - Time of a block in pieces -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An estimate before there are kernels: matmuls, attention and collectives take
// what the cost model says, and of other ops those whose results are stored
// what it takes to read as much twice and to write it. One that is beside a
// collective takes longer.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_PIECETIMES_H
#define WEFT_LIB_SCHEDULE_PIECETIMES_H

#include "weft/Cost/CostModel.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace weft {

struct PieceTimes {
  double seconds = 0;
  /// What the block waits for each collective.
  llvm::DenseMap<mlir::Operation *, double> exposed;
};

/// With `cut` (CutRegion.h) in pieces.
PieceTimes predictPieces(mlir::Block &block,
                         const llvm::DenseSet<mlir::Operation *> &cut,
                         int64_t pieces, const cost::CostModel &model);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_PIECETIMES_H
