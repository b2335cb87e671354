//===- Trace.h - When each instruction ran ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread of a rank appends to a track of its own; the session turns the
// tracks into the JSON that Perfetto and chrome://tracing read.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_TRACE_H
#define WEFT_RUNTIME_SRC_EXECUTOR_TRACE_H

#include "weft/runtime/Plan.h"
#include "weft/runtime/Status.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::runtime {

/// What an event of a timeline belongs to.
struct TraceAction {
  uint32_t role = 0;
  uint32_t microbatch = 0;
  bool isWholeSegment = false;
};

/// One executed instruction. In a timeline the entry is the segment; one event
/// is of the whole segment, around those of its instructions, and those of
/// sends and receives have the entry with the timeline and their message.
struct TraceEvent {
  uint32_t entry = 0;
  uint32_t instruction = 0;
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
  /// Seconds that the plan's numbers make of it on this machine; 0 = unknown.
  double predicted = 0;
  /// In a timeline.
  std::optional<TraceAction> action = std::nullopt;
};

/// What one thread of one rank did.
struct TraceTrack {
  /// Whether the current run is recorded.
  bool recording = false;
  /// Has room for the current run before it starts.
  std::vector<TraceEvent> events;
  /// Where those of each recorded run begin.
  std::vector<size_t> runs;
};

/// The tracks of a rank.
struct RankTrace {
  TraceTrack compute;
  TraceTrack communication;
  /// On GPUs, collectives of the second queue (CollectiveQueues.h).
  TraceTrack secondQueue;

  static constexpr TraceTrack RankTrace::*all[] = {
      &RankTrace::compute, &RankTrace::communication, &RankTrace::secondQueue};
};

/// Writes the tracks of all ranks; one process a rank, one thread a stream.
Status writeTraceFile(const std::string &path, const Plan &plan,
                      const std::vector<const RankTrace *> &ranks);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_TRACE_H
