//===- CommunicationQueue.h - Collectives beside the computation -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The started collectives of a rank, which a second thread executes in the
// order in which they were started, so that they progress while the rank
// computes. Submitting and waiting allocate nothing.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_COMMUNICATIONQUEUE_H
#define WEFT_RUNTIME_SRC_EXECUTOR_COMMUNICATIONQUEUE_H

#include "comm/EventCount.h"
#include "executor/Collective.h"
#include "executor/Trace.h"
#include "weft/runtime/Status.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace weft::runtime {

class CommunicationQueue {
public:
  /// At most `capacity` collectives are in flight. `onFailure` is called in the
  /// second thread with the first failure.
  CommunicationQueue(size_t capacity, SpinPolicy spin, TraceTrack &track,
                     std::function<void(const Status &)> onFailure);

  /// Hands over a collective of entry `entry`, for traces, and of `action` in a
  /// timeline; the ticket is for `wait`.
  uint32_t submit(const BoundCollective &collective, uint32_t entry,
                  const std::optional<TraceAction> &action);

  /// Blocks until the collective with this ticket is done. Its end is bounded
  /// by the deadline of the collective itself.
  Status wait(uint32_t ticket);

  /// By the second thread: executes what is submitted until the queue is
  /// closed, which the rank does at the end of every run.
  void carry();
  void close();

private:
  struct Task {
    const BoundCollective *collective = nullptr;
    uint32_t entry = 0;
    std::optional<TraceAction> action = std::nullopt;
  };
  Status runTask(const Task &task);

  std::vector<Task> ring;
  const SpinPolicy spin;
  TraceTrack &track;
  const std::function<void(const Status &)> onFailure;

  /// Counters of tasks; they wrap around.
  std::atomic<uint32_t> submitted{0};
  std::atomic<uint32_t> completed{0};
  std::atomic<bool> closed{false};
  /// Written before `failed` is set, read after.
  Status failure;
  std::atomic<bool> failed{false};
  EventCount work;
  EventCount done;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_COMMUNICATIONQUEUE_H
