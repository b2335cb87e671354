//===- TimelineOrder.h - What a rank does in a timeline ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of a timeline says when sends and receives start. This adds where each
// is waited for: as late as the slots that it reads and writes allow, and at
// the end of the row. The verifier and all executors walk the same steps.
//
//   actions                  steps
//   0 receive "h" of 0       start 0
//   1 run backward of 3      run 1
//   2 run forward of 0       wait 0, run 2        (it reads "h")
//   3 send "y" of 0          start 3
//   4 run forward of 1       wait 3, run 4        (it writes "y", one slot)
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_TIMELINEORDER_H
#define WEFT_RUNTIME_SRC_PLAN_TIMELINEORDER_H

#include "plan/Roles.h"
#include "weft/runtime/plan_generated.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::runtime {

struct TimelineStep {
  enum class Kind : uint8_t { Run, Start, Wait };
  Kind kind;
  /// The action that is run or started, or the send or receive that is waited
  /// for.
  uint32_t action;
  /// The action that the step is done for; the number of actions for the waits
  /// at the end.
  uint32_t during;
};

/// What the ranks of a role do in a call of an entry with a timeline.
std::vector<TimelineStep> timelineSteps(const plan::Plan &plan,
                                        const plan::Timeline &timeline,
                                        uint32_t role);

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
