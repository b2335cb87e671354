//===- CommunicationThread.cpp - Collectives beside the computation -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/CommunicationThread.h"

#include <bit>

namespace weft::runtime {

// The size of the ring is a power of two so that the counters may wrap around.
CommunicationThread::CommunicationThread(
    size_t capacity, SpinPolicy spin, TraceTrack &track,
    std::function<void(const Status &)> onFailure)
    : ring(std::bit_ceil(capacity)), spin(spin), track(track),
      onFailure(std::move(onFailure)), thread([this] { loop(); }) {}

CommunicationThread::~CommunicationThread() {
  stopping.store(true);
  work.notifyAll();
  thread.join();
}

uint32_t CommunicationThread::submit(const BoundCollective &collective,
                                     uint32_t entry) {
  const uint32_t ticket = submitted.load(std::memory_order_relaxed);
  ring[ticket % ring.size()] = {&collective, entry};
  submitted.store(ticket + 1);
  work.notifyAll();
  return ticket;
}

Status CommunicationThread::wait(uint32_t ticket) {
  waitUntil(done, spin, Clock::time_point::max(), [&] {
    return static_cast<int32_t>(completed.load() - ticket) > 0;
  });
  return failed.load() ? failure : Status();
}

Status CommunicationThread::runTask(const Task &task) {
  if (!track.recording)
    return task.collective->run();
  const auto begin = std::chrono::steady_clock::now();
  Status status = task.collective->run();
  track.events.push_back({task.entry, task.collective->instruction(), begin,
                          std::chrono::steady_clock::now()});
  return status;
}

void CommunicationThread::loop() {
  uint32_t next = 0;
  while (true) {
    waitUntil(work, spin, Clock::time_point::max(),
              [&] { return submitted.load() != next || stopping.load(); });
    if (submitted.load() == next)
      return;
    Status status = runTask(ring[next % ring.size()]);
    if (!status.ok() && !failed.load()) {
      failure = std::move(status);
      failed.store(true);
      onFailure(failure);
    }
    completed.store(++next);
    done.notifyAll();
  }
}

} // namespace weft::runtime
