//===- ChooseSchedule.h - The fastest schedule of stages --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedule of a pipeline for the actual work and memory of each stage. The
// program is compiled (without machine code) with input and weight gradients
// apart, its segments are measured, and the search of weft/Timeline finds a
// table for them. Under a limit of memory that is done three times: with
// nothing recomputed, with all but the results of matmuls, and with everything.
// Which regions of which stage are recomputed is then chosen for the table
// (LimitMemory.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SEARCH_CHOOSESCHEDULE_H
#define WEFT_SEARCH_CHOOSESCHEDULE_H

#include "weft/Cost/CostModel.h"
#include "weft/Phases.h"
#include "weft/Timeline/Timing.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// What the stages of a program cost, in seconds and bytes, and how many
/// bytes beside activations the role has that has the most.
struct MeasuredStages {
  timeline::Costs costs;
  int64_t ranks = 0, microbatches = 0;
  int64_t otherBytes = 0;
  /// Of the largest message of a micro-batch.
  int64_t transferBytes = 0;
};

/// Of a schedule (form 4) with input and weight gradients apart.
MeasuredStages measureStages(mlir::ModuleOp schedule,
                             const cost::CostModel &model);

/// The table, as CSV, with which the stages of a graph take the least time, as
/// far as they are predicted, and no rank more than `memoryLimit` bytes (0: any
/// number), if need be with recomputation. Fails with a diagnostic.
mlir::FailureOr<std::string> chooseSchedule(mlir::ModuleOp graph,
                                            const PipelineOptions &options,
                                            int64_t memoryLimit);

} // namespace weft

#endif // WEFT_SEARCH_CHOOSESCHEDULE_H
