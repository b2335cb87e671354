//===- RecomputationReport.h - What recomputation saves ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What --weft-recompute-in-kernels did to a block, on the op that the block is
// of: the order of the ops is chosen with it, and it is printed.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SCHEDULE_RECOMPUTATIONREPORT_H
#define WEFT_SCHEDULE_RECOMPUTATIONREPORT_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace weft {

struct RecomputationReport {
  int64_t ops = 0;
  /// By which the peak falls, as estimated.
  int64_t sparedBytes = 0;
};

void setRecomputationReport(mlir::Operation *parent,
                            const RecomputationReport &report);
/// Zeros if nothing is recomputed.
RecomputationReport getRecomputationReport(mlir::Operation *parent);

/// A line for each function that recomputes, or has a loop that does:
/// recomputed in kernels of step: 12 ops, some 4.00 MiB less at the peak
std::string printRecomputationReports(mlir::ModuleOp module);

} // namespace weft

#endif // WEFT_SCHEDULE_RECOMPUTATIONREPORT_H
