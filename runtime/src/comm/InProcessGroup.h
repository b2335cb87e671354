//===- InProcessGroup.h - Where the ranks of one group meet -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state that the communicators of one group share: a seat per rank, where
// it publishes its call, and one gate that counts arrivals.
//
// The gate is one 64-bit word: the number of arrivals since creation, and a
// bit for "failed". A round of n ranks takes 2n arrivals: n to meet, n to
// leave. Because failing and arriving change the same word, all ranks agree on
// whether a meeting took place: once the failed bit is set, no further rank
// can arrive to meet, and who has met completes the round as usual. Leaving
// therefore needs neither deadline nor abort: every rank of the round is only
// copying, and no one returns while a peer may still read its buffers.
//
// A rank whose peers read nothing but its seat leaves without waiting. Seats
// have two sides, of even and of odd rounds: to come to the next round but one
// a rank meets the others in the next, and then they have left this one.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_INPROCESSGROUP_H
#define WEFT_RUNTIME_COMM_INPROCESSGROUP_H

#include "Call.h"
#include "EventCount.h"

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::runtime {

class InProcessGroup {
public:
  InProcessGroup(std::vector<int> worldRanks, const SpinPolicy &spin);

  int size() const { return static_cast<int>(members.size()); }
  const std::vector<int> &worldRanks() const { return members; }

  /// Publishes `call` of group rank `rank` and waits until every rank has
  /// published one of equal shape. After success, and only then, the caller
  /// may use `call(rank, peer)` of all ranks and must `leave` or `leaveEarly`.
  /// Where `mayWaitOn` says so at the end of the time, waits as long again:
  /// what keeps the missing ranks has a time and a message of its own.
  Status meet(int rank, const Call &call, std::chrono::nanoseconds timeout,
              const std::function<bool()> &mayWaitOn = {});
  /// What `peer` has published for the round that `rank` is in.
  const Call &call(int rank, int peer) const {
    return seats[peer].sides[seats[rank].side()].call;
  }
  /// Waits until no rank uses another one's buffers any more.
  void leave(int rank);
  /// The same where all ranks use memory of seats only.
  void leaveEarly();

  /// Memory of the seat of a rank for what it publishes next.
  static constexpr int64_t seatBytes = 1024;
  std::byte *seatMemory(int rank) {
    return seats[rank].sides[!seats[rank].side()].memory;
  }

  /// Ends the group with `reason`, unless it failed before; wakes all waiters.
  /// Returns the failure that counts.
  Status fail(const Status &reason);
  /// Success, or the first failure.
  Status failure() const;

private:
  static constexpr uint64_t failedBit = uint64_t(1) << 63;
  static constexpr size_t cacheLine = 64;

  struct Side {
    Call call;
    alignas(cacheLine) std::byte memory[seatBytes];
  };
  struct alignas(cacheLine) Seat {
    Side sides[2];
    /// Rounds that this rank has entered; read by the others only to name who
    /// is missing.
    std::atomic<uint64_t> rounds{0};

    /// Of the round that this rank is in.
    size_t side() const { return rounds.load(std::memory_order_relaxed) % 2; }
  };

  bool failed() const { return (gate.load() & failedBit) != 0; }
  uint64_t arrivals() const { return gate.load() & ~failedBit; }

  bool tryArrive(uint64_t target);
  bool failUnlessMet(uint64_t target, const Status &reason);
  Status missing(int rank, const Call &call, uint64_t round,
                 std::chrono::nanoseconds timeout);
  Status checkAgreement(int rank) const;

  const std::vector<int> members;
  const SpinPolicy spin;
  std::vector<Seat> seats;

  alignas(cacheLine) std::atomic<uint64_t> gate{0};
  alignas(cacheLine) EventCount gateEvent;

  mutable std::mutex failureMutex;
  Status firstFailure;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_INPROCESSGROUP_H
