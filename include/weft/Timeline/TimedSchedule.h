//===- TimedSchedule.h - A schedule and its timing --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule that somebody asks for, with what there is to know about it: what
// `shard-sim schedule` prints and Python's weft.pipeline.schedule returns.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_TIMEDSCHEDULE_H
#define WEFT_TIMELINE_TIMEDSCHEDULE_H

#include "weft/Timeline/AutoSchedule.h"
#include "weft/Timeline/Extent.h"
#include "weft/Timeline/Schedules.h"
#include "weft/Timeline/Timing.h"

namespace weft::timeline {

struct ScheduleRequest {
  /// Of a published schedule, or "auto" for the fastest table that there is
  /// (see findFastest). Or a table of one's own, as CSV.
  std::string name;
  std::optional<std::string> csv;
  /// What messages call the table.
  std::string file;
  ScheduleSize size;
  /// As parseCosts reads them.
  std::string times;
  double transfer = 0;
  /// The most memory of activations that a rank may use.
  std::optional<double> memoryLimit;
};

struct TimedSchedule {
  /// "zb-v", or the file.
  std::string name;
  Table table;
  Extent extent;
  /// Of each of its stages.
  Costs costs;
  Timing timing;
  double lowerBound = 0;
  /// Of "auto": the published schedules that fit, the fastest first.
  std::vector<RatedSchedule> published;

  /// Stages per rank.
  int32_t chunks() const {
    return (extent.stages + table.ranks() - 1) / table.ranks();
  }
  /// "zb-v, 4 ranks, 8 micro-batches, 2 stages per rank".
  std::string title() const;
};

/// The schedule, or all that is wrong with the request.
struct ScheduleAnswer {
  TimedSchedule schedule;
  std::vector<std::string> errors;
};
ScheduleAnswer makeSchedule(const ScheduleRequest &request);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_TIMEDSCHEDULE_H
