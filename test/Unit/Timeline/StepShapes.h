//===- StepShapes.h - Steps for the tests of timelines ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps for the tests of timelines: named schedules with what is once a step.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_UNIT_TIMELINE_STEPSHAPES_H
#define WEFT_TEST_UNIT_TIMELINE_STEPSHAPES_H

#include "weft/Timeline/Schedules.h"
#include "weft/Timeline/StepRows.h"

namespace weft::timeline {

enum class Once {
  None,
  /// A number of every stage goes to all others behind level 0 of the update.
  Norm,
  /// The gradient of a parameter goes from the last stage to the first, and
  /// the new parameter back.
  Tied,
  /// Both, and a mask that stage 0 computes for all.
  All,
};

inline StepShape shapeOf(Placement placement, int32_t microbatches, Once once) {
  const int32_t stages = int32_t(placement.size()), last = stages - 1;
  StepShape shape;
  shape.placement = std::move(placement);
  shape.microbatches = microbatches;
  shape.edges = neighbourEdges(stages, 64);
  if (once == Once::None)
    return shape;
  const bool hasNorm = once != Once::Tied, isTied = once != Once::Norm;
  // The norm is one of summed gradients.
  const int32_t level = hasNorm && isTied ? 1 : 0;
  const auto send = [&](int32_t from, int32_t to, bool isUpdate, int32_t at,
                        int64_t bytes) {
    if (from != to)
      shape.onceEdges.push_back({from, to, isUpdate, at, bytes});
  };
  if (isTied) {
    send(last, 0, true, 0, 1024);
    send(0, last, true, level + 1, 1024);
  }
  for (int32_t from = 0; hasNorm && from < stages; ++from)
    for (int32_t to = 0; to < stages; ++to)
      send(from, to, true, level, 4);
  shape.updateLevels.assign(stages, level + 2);
  if (isTied && last > 0)
    ++shape.updateLevels[last];
  if (once == Once::All) {
    shape.prologueLevels = {1};
    for (int32_t to = 1; to < stages; ++to)
      send(0, to, false, 0, 16);
    if (stages > 2)
      shape.prologueLevels = {1, 0, 2};
  }
  return shape;
}

inline Placement placementOf(const NamedSchedule &schedule, ScheduleSize size) {
  return placementOf(schedule.fold, size.ranks,
                     size.chunks ? size.chunks : schedule.defaultChunks);
}

/// In which order a schedule adds up gradients, as a job says it.
inline std::vector<int32_t> gradientOrderOf(std::string_view schedule,
                                            int32_t microbatches) {
  std::vector<int32_t> order;
  // The backward passes of this one run in the opposite order.
  for (int32_t i = microbatches; schedule == "looped-bfs" && i-- > 0;)
    order.push_back(i);
  return order;
}

} // namespace weft::timeline

#endif // WEFT_TEST_UNIT_TIMELINE_STEPSHAPES_H
