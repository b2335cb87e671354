//===- PlannedSchedule.h - The schedule of a plan's rows --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan has rows and no word of the schedule that they are made by: what it is
// called and how long it takes is found from the rows alone.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_REPORT_PLANNEDSCHEDULE_H
#define WEFT_LIB_REPORT_PLANNEDSCHEDULE_H

#include "weft/Timeline/TimedSchedule.h"

#include <optional>

namespace weft {

/// The schedule that a table of compute actions follows, "table" if it is none
/// of the published ones, and its timing. Passes that no rank executes, such as
/// an input gradient of the first stage, take no time. Memory is in units of
/// what one micro-batch keeps in all stages of a rank, all stages keeping
/// alike. None if the table breaks a rule.
std::optional<timeline::TimedSchedule>
findPlannedSchedule(const timeline::Table &table, timeline::Costs costs);

} // namespace weft

#endif // WEFT_LIB_REPORT_PLANNEDSCHEDULE_H
