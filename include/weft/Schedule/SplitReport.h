//===- SplitReport.h - What cutting collectives saves -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SCHEDULE_SPLITREPORT_H
#define WEFT_SCHEDULE_SPLITREPORT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace weft {

/// Collectives of a block that were cut into pieces, and what the cost model
/// expects the block to take without and with that.
struct SplitReport {
  int64_t collectives = 0, pieces = 0;
  double secondsBefore = 0, seconds = 0;
};

void addToSplitReport(mlir::func::FuncOp function, const SplitReport &report);

/// One line for each block of which collectives were cut:
///
///   collectives of step: 22 cut into 2 pieces each, 10.51 ms instead of 11.33
///   ms
std::string printSplitReports(mlir::ModuleOp module);

} // namespace weft

#endif // WEFT_SCHEDULE_SPLITREPORT_H
