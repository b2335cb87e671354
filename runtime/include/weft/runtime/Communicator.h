//===- Communicator.h - Data exchange between ranks -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface between the executor and whatever carries the data: threads of
// one process (InProcessWorld.h), MPI, NCCL.
//
// A World holds the ranks of a job and creates, before the first step, every
// communicator that the plan names. A Communicator is one rank's end of one
// group. All ranks of a group call the same operations in the same order; each
// call blocks its thread until this rank's part is done. A Channel is one
// rank's end of a queue from one rank to one other, for messages of pipelines,
// which go on beside the computation.
//
//   world                 ranks 0..3 of a mesh <["data"=2, "model"=2]>
//   group 0 ("model")     {{0, 1}, {2, 3}}
//   group 1 ("data")      {{0, 2}, {1, 3}}
//   world.communicator(/*rank=*/2, /*group=*/0)   rank 0 of {2, 3}
//
// Layouts are row-major, and those of `CollectiveStart` in plan.fbs. "group"
// is the number of ranks of the group.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMMUNICATOR_H
#define WEFT_RUNTIME_COMMUNICATOR_H

#include "weft/runtime/DType.h"
#include "weft/runtime/Exchange.h"
#include "weft/runtime/Status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::runtime {

/// How the values of several ranks become one; the numbers are those of
/// `weft.plan.Reduction`. Sums of 16-bit floats are taken in fp32 and rounded
/// once. Max and Min of floats give NaN when one value is NaN. Integer sums
/// wrap around. Pred has Max (or) and Min (and) but no Sum.
enum class Reduction : uint8_t { Sum = 0, Max = 1, Min = 2 };

/// "sum", "max" or "min".
constexpr std::string_view name(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return "sum";
  case Reduction::Max:
    return "max";
  case Reduction::Min:
    return "min";
  }
  return "unknown";
}

/// Where a call comes from and how long it may wait for its peers.
struct CallContext {
  /// Index of the instruction in the entry; negative outside a plan.
  int64_t planStep = -1;
  /// What the data is, for messages ("gradient of w1"); may be empty. Must
  /// outlive the call.
  std::string_view cause;
  /// Longest wait for the other ranks to arrive. Time spent moving data after
  /// all have arrived does not count.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};

/// One rank's end of one group.
///
/// Threads: the collectives of one communicator are called by one thread at a
/// time, in the same order on all ranks of the group. Different communicators,
/// also of the same rank, may be used by different threads at the same time.
///
/// Buffers: source and destination must not overlap, except that they may be
/// equal for allReduce; both are aligned to their
/// elements, and may be null when they have none. When a call returns, also
/// with a failure, no peer touches this rank's buffers any more.
///
/// Failures: they are final for the group, because its ranks are no longer in
/// step; each later call on it returns the first failure again.
///  - A rank that does not arrive: `deadline_exceeded`, naming the missing
///    ranks by their number in the world and the plan step, as in
///      step 17 all_reduce on rank 3: ranks 1, 2 did not arrive within 30 s
///      (gradient of w1)
///  - Calls that do not fit each other (operation, sizes, type,
///    reduction): `failed_precondition` on every rank of the group, with both
///    calls.
///  - An argument that is wrong by itself: `invalid_argument` on every rank.
///  - World::abort: its status, at once, on every waiting rank.
class Communicator {
public:
  virtual ~Communicator() = default;
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  /// This rank's number in the group and the number of ranks in it.
  int rank() const { return groupRank; }
  int size() const { return static_cast<int>(members.size()); }
  /// The numbers in the world of the group's ranks, in group order.
  std::span<const int> worldRanks() const { return members; }
  /// This rank's number in the world.
  int worldRank() const { return members[groupRank]; }

  /// source [count] -> destination [count], reduced over the group; the same
  /// bits on every rank and in every run.
  virtual Status allReduce(const void *source, void *destination, int64_t count,
                           DType dtype, Reduction reduction,
                           const CallContext &context) = 0;

  /// source [outer, group, inner] -> destination [outer, inner], reduced over
  /// the group: rank r gets the parts with group index r.
  virtual Status reduceScatter(const void *source, void *destination,
                               int64_t outer, int64_t inner, DType dtype,
                               Reduction reduction,
                               const CallContext &context) = 0;

  /// source [outer, inner] -> destination [outer, group, inner].
  virtual Status allGather(const void *source, void *destination, int64_t outer,
                           int64_t inner, DType dtype,
                           const CallContext &context) = 0;

  /// splitFirst: source [outer, group, middle, inner]
  ///             -> destination [outer, middle, group, inner];
  /// otherwise:  source [outer, middle, group, inner]
  ///             -> destination [outer, group, middle, inner].
  /// The group index of the source says which rank receives it, that of the
  /// destination who sent it.
  virtual Status allToAll(const void *source, void *destination, int64_t outer,
                          int64_t middle, int64_t inner, bool splitFirst,
                          DType dtype, const CallContext &context) = 0;

  /// destination [count] = source [count] of rank `receiveFrom` of the group.
  virtual Status permute(const void *source, void *destination, int64_t count,
                         DType dtype, int receiveFrom,
                         const CallContext &context) = 0;

  /// source [outer, before, inner] -> destination [outer, after, inner], by the
  /// blocks of `exchange`. What they do not reach in the destination stays.
  virtual Status exchange(const void *source, void *destination,
                          const Exchange &exchange, DType dtype,
                          const CallContext &context) = 0;

  /// Returns when every rank of the group has called it.
  virtual Status barrier(const CallContext &context) = 0;

protected:
  Communicator(std::vector<int> members, int groupRank)
      : members(std::move(members)), groupRank(groupRank) {}

private:
  std::vector<int> members;
  int groupRank;
};

/// A message of a pipeline for one micro-batch, as one of its two ends sees it.
struct Transfer {
  /// A value that is sent, or the memory where it is received.
  struct Part {
    std::byte *memory;
    size_t bytes;
    DType dtype;
  };
  std::vector<Part> parts;
  uint32_t message = 0;
  uint32_t microbatch = 0;
  // For messages: what it is, and the action that starts it.
  std::string_view label;
  uint32_t role = 0;
  uint32_t action = 0;
  /// Longest wait for the other end to start it.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};

/// One end of a queue from one rank to one other. What starts at the one end
/// starts at the other in the same order.
///
/// Threads: one at a time at each end.
///
/// Failures are final and the same at both ends:
///  - an end that does not start: `deadline_exceeded`, naming role, action,
///    message and micro-batch;
///  - ends that start different messages, or move different values:
///    `failed_precondition`, with both;
///  - World::abort: its status.
class Channel {
public:
  virtual ~Channel() = default;

  /// Starts to send or receive, without waiting for the other end. Until its
  /// wait has returned, `transfer` lives, nobody writes what it sends, and
  /// nobody uses where it receives. The ticket is for `wait`.
  virtual uint64_t start(const Transfer &transfer) = 0;

  /// Returns when the transfer is complete, for which both ends must have
  /// started it, and no more: no end need wait for it. With a failure nobody
  /// touches its memory any more, either.
  virtual Status wait(uint64_t ticket) = 0;
};

/// A queue of a pipeline.
struct QueueRanks {
  /// Pairs of world ranks, the sender first; a rank is in at most one.
  std::vector<std::pair<int, int>> pairs;
  /// Messages that a pair may have in flight at once.
  size_t capacity = 1;
};

/// The ranks of one entry of `Plan.groups`: disjoint lists of world ranks, each
/// in group order. A rank need not be in any of them.
using GroupRanks = std::vector<std::vector<int>>;

/// The ranks of a job and their communicators.
class World {
public:
  virtual ~World() = default;

  /// Number of ranks.
  virtual int size() const = 0;

  /// The end of world rank `rank` in group `group` (an index into the list the
  /// world was created with), or null when the rank is in none of its lists or
  /// lives in another process. Owned by the world.
  virtual Communicator *communicator(int rank, size_t group) const = 0;

  /// The end of world rank `rank` of queue `queue` (an index into the list the
  /// world was created with), or null when the rank is at neither. Owned by the
  /// world.
  virtual Channel *channel(int rank, size_t queue) const = 0;

  /// Ends all communication: every waiting and every later call of every rank
  /// returns `reason`, except on groups that failed before. The first reason
  /// stays. Safe from any thread.
  virtual void abort(const Status &reason) = 0;

  /// Success, or the reason of the first abort.
  virtual Status status() const = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMMUNICATOR_H
