//===- InProcessGroup.cpp - Where the ranks of one group meet -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InProcessGroup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft::runtime {

InProcessGroup::InProcessGroup(std::vector<int> worldRanks,
                               const SpinPolicy &spin)
    : members(std::move(worldRanks)), spin(spin), seats(members.size()) {}

//===----------------------------------------------------------------------===//
// Failing
//===----------------------------------------------------------------------===//

Status InProcessGroup::failure() const {
  std::lock_guard<std::mutex> lock(failureMutex);
  return firstFailure;
}

Status InProcessGroup::fail(const Status &reason) {
  {
    // The mutex is held while the bit is set, so that whoever sees the bit
    // waits here for the reason.
    std::lock_guard<std::mutex> lock(failureMutex);
    if (!firstFailure.ok())
      return firstFailure;
    firstFailure = reason;
    gate.fetch_or(failedBit);
  }
  gateEvent.notifyAll();
  return reason;
}

/// Fails the group if fewer than `target` arrivals have been counted; false
/// when the meeting took place at the last moment.
bool InProcessGroup::failUnlessMet(uint64_t target, const Status &reason) {
  {
    std::lock_guard<std::mutex> lock(failureMutex);
    uint64_t current = gate.load();
    do {
      if ((current & ~failedBit) >= target)
        return false;
      if (current & failedBit)
        return true;
    } while (!gate.compare_exchange_weak(current, current | failedBit));
    firstFailure = reason;
  }
  gateEvent.notifyAll();
  return true;
}

//===----------------------------------------------------------------------===//
// Meeting and leaving
//===----------------------------------------------------------------------===//

/// Counts one arrival, unless the group has failed; wakes the others when it
/// was the last one.
bool InProcessGroup::tryArrive(uint64_t target) {
  uint64_t current = gate.load();
  do {
    if (current & failedBit)
      return false;
  } while (!gate.compare_exchange_weak(current, current + 1));
  if (current + 1 == target)
    gateEvent.notifyAll();
  return true;
}

Status InProcessGroup::missing(int rank, const Call &call, uint64_t round,
                               std::chrono::nanoseconds timeout) {
  std::vector<int> absent;
  for (size_t i = 0; i < seats.size(); ++i)
    if (seats[i].rounds.load() < round)
      absent.push_back(members[i]);
  return deadlineExceeded(fmt::format(
      "{}: {} did not arrive within {}{}",
      describeCall(call.shape.operation, call.planStep, members[rank]),
      describeRanks(absent), describeDuration(timeout),
      describeCause(call.cause)));
}

static std::string describeCaller(const Call &call, int worldRank) {
  const std::string step =
      call.planStep < 0 ? "" : fmt::format(" at step {}", call.planStep);
  return fmt::format("rank {} calls {}{}{}", worldRank, describe(call.shape),
                     step, describeCause(call.cause));
}

Status InProcessGroup::checkAgreement(int rank) const {
  const Call &first = call(rank, 0);
  for (size_t i = 1; i < seats.size(); ++i) {
    const Call &other = call(rank, static_cast<int>(i));
    if (other.shape == first.shape)
      continue;
    const Call &own = call(rank, rank);
    return failedPrecondition(fmt::format(
        "{}: the ranks of group {{{}}} call different operations: {}, but {}",
        describeCall(own.shape.operation, own.planStep, members[rank]),
        fmt::join(members, ", "), describeCaller(first, members[0]),
        describeCaller(other, members[i])));
  }
  return {};
}

Status InProcessGroup::meet(int rank, const Call &call,
                            std::chrono::nanoseconds timeout,
                            const std::function<bool()> &mayWaitOn) {
  Seat &seat = seats[rank];
  const uint64_t round = seat.rounds.load(std::memory_order_relaxed) + 1;
  const uint64_t target = (2 * round - 1) * members.size();
  if (failed())
    return failure();
  seat.sides[round % 2].call = call;
  seat.rounds.store(round);
  if (!tryArrive(target))
    return failure();

  const auto settled = [&] {
    const uint64_t current = gate.load();
    return (current & ~failedBit) >= target || (current & failedBit);
  };
  if (!waitUntil(gateEvent, spin, timeout, settled) &&
      !(mayWaitOn && mayWaitOn() &&
        waitUntil(gateEvent, spin, timeout, settled)))
    failUnlessMet(target, missing(rank, call, round, timeout));
  if (arrivals() < target)
    return failure();

  // All ranks compare the same calls and come to the same verdict.
  if (Status verdict = checkAgreement(rank); !verdict.ok()) {
    leave(rank);
    (void)fail(verdict);
    return verdict;
  }
  return {};
}

void InProcessGroup::leave(int rank) {
  const uint64_t round = seats[rank].rounds.load(std::memory_order_relaxed);
  const uint64_t target = 2 * round * members.size();
  if (((gate.fetch_add(1) + 1) & ~failedBit) == target)
    gateEvent.notifyAll();
  waitUntil(gateEvent, spin, noTimeout, [&] { return arrivals() >= target; });
}

// The last to arrive for the next round wakes who waits there.
void InProcessGroup::leaveEarly() { gate.fetch_add(1); }

} // namespace weft::runtime
