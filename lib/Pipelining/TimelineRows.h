//===- TimelineRows.h - When the segments of an entry run -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PIPELINING_TIMELINEROWS_H
#define WEFT_LIB_PIPELINING_TIMELINEROWS_H

#include "CutSegments.h"

#include "weft/IR/StagePipeline.h"

namespace weft {

/// What a pipeline of an entry is to be.
struct ScheduleRequest {
  const StagePipeline &pipeline;
  int64_t stages = 0, microbatches = 0;
};

/// The schedule of an entry. Errors are reported.
mlir::FailureOr<PipelineSchedule>
findPipelineSchedule(mlir::func::FuncOp entry, const ScheduleRequest &request);

/// How many slots the states of micro-batches have, by role and name.
using StateSlots = std::map<std::pair<int64_t, std::string>, int64_t>;

struct TimelineRows {
  /// One for each role.
  std::vector<std::string> rows;
  llvm::SmallVector<mlir::Attribute> messages;
  StateSlots slots;
};

/// Adds to a schedule what is done once a step, and messages; proves the job
/// safe. Errors are reported.
mlir::FailureOr<TimelineRows> makeRows(mlir::func::FuncOp entry,
                                       const CutEntry &cut,
                                       const PipelineSchedule &schedule);

} // namespace weft

#endif // WEFT_LIB_PIPELINING_TIMELINEROWS_H
