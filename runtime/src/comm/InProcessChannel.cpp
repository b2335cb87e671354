//===- InProcessChannel.cpp - A queue between two threads -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InProcessChannel.h"

#include "TransferEnds.h"

#include <cstring>

namespace weft::runtime {

InProcessQueue::InProcessQueue(int sender, int receiver, size_t capacity,
                               const SpinPolicy &spin, Move move)
    : spin(spin), move(std::move(move)),
      ends{End(*this, sender, capacity), End(*this, receiver, capacity)} {}

Status InProcessQueue::fail(const Status &reason) {
  {
    std::lock_guard<std::mutex> lock(failureMutex);
    if (!firstFailure.ok())
      return firstFailure;
    firstFailure = reason;
    failed.store(true);
  }
  event.notifyAll();
  return reason;
}

/// Once nobody copies any more.
Status InProcessQueue::failure() {
  waitUntil(event, spin, noTimeout, [&] { return !isCopying.load(); });
  std::lock_guard<std::mutex> lock(failureMutex);
  return firstFailure;
}

uint64_t InProcessQueue::End::start(const Transfer &transfer) {
  const uint64_t number = started.load(std::memory_order_relaxed);
  ring[number % ring.size()] = &transfer;
  started.store(number + 1);
  queue.event.notifyAll();
  return number;
}

//===----------------------------------------------------------------------===//
// Waiting and copying
//===----------------------------------------------------------------------===//

Status InProcessQueue::moveOnHost(const Transfer &from, const Transfer &to) {
  for (size_t i = 0; i < from.parts.size(); ++i)
    if (from.parts[i].bytes != 0)
      std::memcpy(to.parts[i].memory, from.parts[i].memory,
                  from.parts[i].bytes);
  return {};
}

Status InProcessQueue::copyNext() {
  Status status;
  const uint64_t next = done.load();
  if (!failed.load() && hasStarted(next)) {
    const Transfer &from = ends[0].at(next), &to = ends[1].at(next);
    status = checkSameTransfer(from, ends[0].rank, to, ends[1].rank);
    if (status.ok())
      status = move(from, to);
    if (status.ok())
      done.store(next + 1);
  }
  return status;
}

Status InProcessQueue::wait(End &end, uint64_t ticket) {
  const Transfer &transfer = end.at(ticket);
  const End &peer = ends[&end == &ends[0]];
  WaitBudget budget(transfer.timeout);
  while (done.load() <= ticket) {
    const bool isSettled = waitUntil(event, spin, budget, [&] {
      return done.load() > ticket || failed.load() ||
             (!isCopying.load() && hasStarted(done.load()));
    });
    if (done.load() > ticket)
      break;
    if (failed.load())
      return failure();
    if (!isSettled) {
      if (peer.started.load() <= ticket) {
        (void)fail(
            missingTransfer(transfer, &end == &ends[0], end.rank, peer.rank));
        return failure();
      }
      budget = WaitBudget(noTimeout); // the peer is copying
      continue;
    }
    if (isCopying.exchange(true))
      continue;
    const Status status = copyNext();
    isCopying.store(false);
    event.notifyAll();
    if (!status.ok())
      return fail(status);
  }
  return {};
}

} // namespace weft::runtime
