//===- TimelineRun.h - The roles of a pipeline against each other -*- C++ -*-=//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rank of each role walks the steps that the runtime walks. A transfer
// begins when both sides have started it and those before it in its queue have
// ended; it goes on beside what the ranks compute.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SIMULATE_TIMELINERUN_H
#define WEFT_SIMULATE_TIMELINERUN_H

#include "weft/Simulate/Usage.h"
#include "weft/runtime/plan_generated.h"

#include <functional>
#include <optional>

namespace weft::simulate {

/// What a role does from `begin` on: a segment up to its deferred instructions,
/// or these.
struct SegmentStep {
  uint32_t role = 0;
  /// The number of the entry.
  uint32_t segment = 0;
  bool isDeferred = false;
  Picoseconds begin = 0;
};

struct TimelineRequest {
  const plan::Plan &plan;
  const plan::Timeline &timeline;
  /// Asked for all steps of a role in their order.
  std::function<Picoseconds(const SegmentStep &step)> segmentTime;
  std::function<Picoseconds(const plan::Message &message)> messageTime;
};

/// An execution of a segment.
struct RunTime {
  uint32_t segment = 0, microbatch = 0;
  Picoseconds begin = 0, end = 0;
  /// What is recorded of it, if anything. All runs of a segment are alike,
  /// unless a reduction goes on beside them.
  uint32_t recording = segment;
};

/// A role waits, for the other one until `from`, and then for the transfer.
struct WaitTime {
  uint32_t message = 0, microbatch = 0;
  Picoseconds begin = 0, from = 0, end = 0;
};

struct RoleRun {
  std::vector<RunTime> runs;
  std::vector<WaitTime> waits;
  Picoseconds end = 0;
  /// Both what the role sends and what it receives.
  Communication messages;
  /// It waits for other roles, none of which sends to it or receives from it
  /// yet.
  Picoseconds bubble = 0;
};

struct TransferTime {
  uint32_t message = 0, microbatch = 0;
  Picoseconds begin = 0, end = 0;
};

struct TimelineRun {
  std::vector<RoleRun> roles;
  /// In the order of each queue.
  std::vector<TransferTime> transfers;
  /// Of the last role. Bubbles last until then. Where it is the longest step
  /// that there may be, the rest is not known.
  Picoseconds end = 0;
};

/// None if roles deadlock.
std::optional<TimelineRun> runTimeline(const TimelineRequest &request);

} // namespace weft::simulate

#endif // WEFT_SIMULATE_TIMELINERUN_H
