//===- PipelineReport.h - The stages of an entry ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_REPORT_PIPELINEREPORT_H
#define WEFT_LIB_REPORT_PIPELINEREPORT_H

#include "Segments.h"

#include "weft/Cost/CostModel.h"
#include "weft/Report/PlanReport.h"

namespace weft {

/// Of an entry with a timeline; `segments` are those of findSegments.
PipelineReport makePipelineReport(const plan::Plan &plan,
                                  const plan::Entry &entry,
                                  const std::vector<Segment> &segments,
                                  const cost::CostModel &model);

/// The stages, the schedule and the messages.
std::string printPipeline(const EntryReport &entry);

} // namespace weft

#endif // WEFT_LIB_REPORT_PIPELINEREPORT_H
