//===- AutoSchedule.h - The fastest table -----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fastest table for given costs and memory: the best of the published
// schedules that fits, and then better ones.
//
// From the forwards of every published schedule a list scheduler makes tables
// for the actual costs (see lib/Timeline/ListScheduler.h); the best ones are
// improved by moving single actions on their critical paths, each scored by the
// exact simulation. The work is bounded by a number of actions, not by time, so
// that the same input gives the same table on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_AUTOSCHEDULE_H
#define WEFT_TIMELINE_AUTOSCHEDULE_H

#include "weft/Timeline/Schedules.h"
#include "weft/Timeline/Timing.h"

namespace weft::timeline {

struct AutoRequest {
  /// Of 0 chunks, what is best with one or two.
  ScheduleSize size;
  /// Of as many stages as there are; see recut.
  Costs costs;
  /// The most memory of activations that a rank may use.
  std::optional<double> memoryLimit;
};

/// A published schedule with the costs of a request.
struct RatedSchedule {
  std::string_view name;
  int32_t chunks = 0;
  double makespan = 0, peak = 0;
};

struct AutoSchedule {
  Table table;
  /// The published schedules that fit, the fastest first. The table is never
  /// slower than the first.
  std::vector<RatedSchedule> named;
  /// Why there is no table.
  std::string error;
  /// If none fits, the least limit that one would.
  std::optional<double> leastMemory;
};
AutoSchedule findFastest(const AutoRequest &request);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_AUTOSCHEDULE_H
