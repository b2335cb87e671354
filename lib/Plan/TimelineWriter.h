//===- TimelineWriter.h - An entry that roles execute together --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PLAN_TIMELINEWRITER_H
#define WEFT_LIB_PLAN_TIMELINEWRITER_H

#include "PlanTables.h"

#include "weft/Schedule/EntryBuffers.h"

#include "llvm/ADT/StringMap.h"

namespace weft {

/// The plan's entry of a declaration with a timeline; `entries` numbers the
/// segments by name. Errors are reported.
mlir::FailureOr<std::unique_ptr<plan::EntryT>>
writeTimeline(mlir::func::FuncOp entry, const ProgramStates &states,
              const llvm::StringMap<uint32_t> &entries, PlanTables &tables);

/// The mesh axis of the timelines of a module and how much memory a rank of
/// each role needs; null if there are none.
std::unique_ptr<plan::PipelineT> writePipeline(mlir::ModuleOp module,
                                               const PlanTables &tables);

} // namespace weft

#endif // WEFT_LIB_PLAN_TIMELINEWRITER_H
