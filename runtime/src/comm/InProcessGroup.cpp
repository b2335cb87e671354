//===- InProcessGroup.cpp - Where the ranks of one group meet -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InProcessGroup.h"

#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft::runtime {

InProcessGroup::InProcessGroup(std::vector<int> worldRanks,
                               const SpinPolicy &spin)
    : members(std::move(worldRanks)), spin(spin), seats(members.size()),
      mailboxes(members.size() * members.size()) {}

//===----------------------------------------------------------------------===//
// Failing
//===----------------------------------------------------------------------===//

Status InProcessGroup::failure() const {
  std::lock_guard<std::mutex> lock(failureMutex);
  return firstFailure;
}

void InProcessGroup::wakeAll() {
  gateEvent.notifyAll();
  for (Mailbox &box : mailboxes)
    box.event.notifyAll();
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
  wakeAll();
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
  wakeAll();
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
                            std::chrono::nanoseconds timeout) {
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
  if (!waitUntil(gateEvent, spin, timeout, settled))
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

//===----------------------------------------------------------------------===//
// Point to point
//===----------------------------------------------------------------------===//

Status InProcessGroup::send(int rank, int peer, const Call &call,
                            std::chrono::nanoseconds timeout) {
  Mailbox &box = mailbox(rank, peer);
  if (failed())
    return failure();
  box.call = call;
  box.state.store(Mail::Offered);
  box.event.notifyAll();

  const bool settled = waitUntil(box.event, spin, timeout, [&] {
    return box.state.load() == Mail::Done || failed();
  });
  Mail offered = Mail::Offered;
  if (box.state.compare_exchange_strong(offered, Mail::Empty)) {
    if (settled)
      return failure();
    return fail(deadlineExceeded(fmt::format(
        "{}: rank {} did not receive within {}{}",
        describeCall(Operation::Send, call.planStep, members[rank]),
        members[peer], describeDuration(timeout), describeCause(call.cause))));
  }
  // The peer has taken the offer and is copying.
  waitUntil(box.event, spin, noTimeout,
            [&] { return box.state.load() == Mail::Done; });
  const bool accepted = box.accepted;
  box.state.store(Mail::Empty);
  return accepted ? Status() : failure();
}

Status InProcessGroup::recv(int rank, int peer, const Call &call,
                            std::chrono::nanoseconds timeout) {
  Mailbox &box = mailbox(peer, rank);
  WaitBudget budget(timeout);
  Mail offered = Mail::Offered;
  // The sender may withdraw an offer that has just been seen.
  while (!box.state.compare_exchange_strong(offered, Mail::Taken)) {
    offered = Mail::Offered;
    if (failed())
      return failure();
    if (!waitUntil(box.event, spin, budget, [&] {
          return box.state.load() == Mail::Offered || failed();
        }))
      return fail(deadlineExceeded(fmt::format(
          "{}: rank {} did not send within {}{}",
          describeCall(Operation::Recv, call.planStep, members[rank]),
          members[peer], describeDuration(timeout),
          describeCause(call.cause))));
  }

  const CallShape &given = box.call.shape;
  Status outcome;
  box.accepted =
      given.dtype == call.shape.dtype && given.inner == call.shape.inner;
  if (box.accepted) {
    const size_t bytes =
        static_cast<size_t>(given.inner) * byteSize(given.dtype);
    if (bytes != 0)
      std::memcpy(call.destination, box.call.source, bytes);
  } else {
    outcome = fail(failedPrecondition(
        fmt::format("{}: the sizes of the two ends differ: {}, but {}",
                    describeCall(Operation::Recv, call.planStep, members[rank]),
                    describeCaller(box.call, members[peer]),
                    describeCaller(call, members[rank]))));
  }
  box.state.store(Mail::Done);
  box.event.notifyAll();
  return outcome;
}

} // namespace weft::runtime
