//===- InProcessChannel.h - A queue between two threads ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each end has a ring of what it has started. A transfer that both ends have
// started is copied, once, by the first of them that waits for it or for a
// later one: straight from the sender's memory to the receiver's. So a message
// arrives as soon as both ends want it, and neither waits for the other to
// *wait*: what the deadlock check of plans assumes is what happens.
//
//   sender    start A . start B . . . wait B      copies A, then B
//   receiver  . . start A . . . start B . . . . wait A, wait B: are done
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_INPROCESSCHANNEL_H
#define WEFT_RUNTIME_COMM_INPROCESSCHANNEL_H

#include "EventCount.h"
#include "weft/runtime/Communicator.h"

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

namespace weft::runtime {

class InProcessQueue {
public:
  /// Moves what one end sends to where the other one receives it.
  using Move = std::function<Status(const Transfer &, const Transfer &)>;
  static Status moveOnHost(const Transfer &from, const Transfer &to);

  InProcessQueue(int sender, int receiver, size_t capacity,
                 const SpinPolicy &spin, Move move = moveOnHost);

  Channel &sender() { return ends[0]; }
  Channel &receiver() { return ends[1]; }

  /// Ends the queue with `reason`, unless it failed before; wakes all waiters.
  /// Returns the failure that counts.
  Status fail(const Status &reason);

private:
  class alignas(64) End final : public Channel {
  public:
    End(InProcessQueue &queue, int rank, size_t capacity)
        : queue(queue), rank(rank), ring(capacity) {}
    uint64_t start(const Transfer &transfer) override;
    Status wait(uint64_t ticket) override { return queue.wait(*this, ticket); }

    InProcessQueue &queue;
    const int rank;
    std::vector<const Transfer *> ring;
    /// Transfers that have started here.
    std::atomic<uint64_t> started{0};

    const Transfer &at(uint64_t number) const {
      return *ring[number % ring.size()];
    }
  };

  Status wait(End &end, uint64_t ticket);
  /// The transfer with number `done`, if both ends have started it.
  Status copyNext();
  Status failure();
  bool hasStarted(uint64_t number) const {
    return ends[0].started.load() > number && ends[1].started.load() > number;
  }

  const SpinPolicy spin;
  const Move move;
  std::array<End, 2> ends;
  /// Transfers that are complete. Whoever has set `isCopying` moves the next
  /// one.
  alignas(64) std::atomic<uint64_t> done{0};
  std::atomic<bool> isCopying{false};
  std::atomic<bool> failed{false};
  alignas(64) EventCount event;

  std::mutex failureMutex;
  Status firstFailure;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_INPROCESSCHANNEL_H
