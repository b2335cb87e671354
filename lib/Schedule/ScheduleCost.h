//===- ScheduleCost.h - What a schedule takes -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Time and memory of the entries of a schedule, before memory is laid out, to
// compare it with another one of the same program.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_SCHEDULECOST_H
#define WEFT_LIB_SCHEDULE_SCHEDULECOST_H

#include "weft/Cost/CostModel.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft {

struct ScheduleCost {
  double seconds = 0;
  /// Alive at once beside the states, and of these.
  int64_t bytes = 0, states = 0;
};

/// Of each entry. Errors are reported.
mlir::FailureOr<std::vector<ScheduleCost>>
costsOf(mlir::ModuleOp schedule, const cost::CostModel &model);

/// Whether no entry of a schedule is worse than in another schedule of the
/// program, and one is better, by what memory is worth.
bool isBetter(llvm::ArrayRef<ScheduleCost> schedule,
              llvm::ArrayRef<ScheduleCost> other);

/// Whether an entry of a schedule takes longer than in another one.
bool takesLonger(llvm::ArrayRef<ScheduleCost> schedule,
                 llvm::ArrayRef<ScheduleCost> other);

/// The most bytes of an entry.
int64_t mostBytes(llvm::ArrayRef<ScheduleCost> schedule);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_SCHEDULECOST_H
