//===- TimelineOrder.h - The queues of timelines ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_TIMELINEORDER_H
#define WEFT_RUNTIME_SRC_PLAN_TIMELINEORDER_H

#include "plan/Roles.h"
#include "weft/runtime/TimelineSteps.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::runtime {

/// The queues of all timelines of a plan, each once: timelines share those
/// between the same roles.
class PipelineQueues {
public:
  struct Queue {
    uint32_t source;
    uint32_t destination;
    /// Messages that may be in flight at once.
    size_t capacity = 0;
  };

  explicit PipelineQueues(const plan::Plan &plan);

  const std::vector<Queue> &all() const { return queues; }
  /// The one that the timeline of an entry calls `queue`.
  size_t of(size_t entry, uint32_t queue) const {
    return numbers[entry][queue];
  }

private:
  void add(const plan::Timeline &timeline, std::vector<size_t> &found);

  std::vector<Queue> queues;
  /// [entry][queue of its timeline]
  std::vector<std::vector<size_t>> numbers;
};

/// The pairs of ranks that a queue connects, senders first: those of the two
/// roles that differ in their role only.
std::vector<std::pair<int, int>> rankPairs(const PipelineQueues::Queue &queue,
                                           const Roles &roles, int64_t ranks);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_PLAN_TIMELINEORDER_H
