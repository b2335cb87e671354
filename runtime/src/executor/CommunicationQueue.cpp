//===- CommunicationQueue.cpp - Collectives beside the computation --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/CommunicationQueue.h"

#include <bit>

namespace weft::runtime {

// The size of the ring is a power of two so that the counters may wrap around.
CommunicationQueue::CommunicationQueue(
    size_t capacity, SpinPolicy spin, TraceTrack &track,
    std::function<void(const Status &)> onFailure)
    : ring(std::bit_ceil(capacity)), spin(spin), track(track),
      onFailure(std::move(onFailure)) {}

uint32_t CommunicationQueue::submit(const BoundCollective &collective,
                                    uint32_t entry,
                                    const std::optional<TraceAction> &action) {
  const uint32_t ticket = submitted.load(std::memory_order_relaxed);
  ring[ticket % ring.size()] = {&collective, entry, action};
  submitted.store(ticket + 1);
  work.notifyAll();
  return ticket;
}

Status CommunicationQueue::wait(uint32_t ticket) {
  waitUntil(done, spin, noTimeout, [&] {
    return static_cast<int32_t>(completed.load() - ticket) > 0;
  });
  return failed.load() ? failure : Status();
}

Status CommunicationQueue::runTask(const Task &task) {
  if (!track.recording)
    return task.collective->run();
  const auto begin = std::chrono::steady_clock::now();
  Status status = task.collective->run();
  track.events.push_back({.entry = task.entry,
                          .instruction = task.collective->instruction(),
                          .begin = begin,
                          .end = std::chrono::steady_clock::now(),
                          .action = task.action});
  return status;
}

void CommunicationQueue::carry() {
  uint32_t next = completed.load();
  while (true) {
    waitUntil(work, spin, noTimeout,
              [&] { return submitted.load() != next || closed.load(); });
    if (submitted.load() == next)
      break;
    Status status = runTask(ring[next % ring.size()]);
    if (!status.ok() && !failed.load()) {
      failure = std::move(status);
      failed.store(true);
      onFailure(failure);
    }
    completed.store(++next);
    done.notifyAll();
  }
  closed.store(false);
}

void CommunicationQueue::close() {
  closed.store(true);
  work.notifyAll();
}

} // namespace weft::runtime
