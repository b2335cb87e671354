//===- MpiChannel.cpp - A queue between two processes ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiChannel.h"

#include "comm/TransferEnds.h"

#include <algorithm>
#include <cstring>

namespace weft::runtime {

using namespace std::chrono_literals;

static constexpr int senderTag = 0, receiverTag = 1, dataTag = 2,
                     failureTag = 3;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

namespace {

/// What an end tells of a transfer; its parts and its label follow.
struct Word {
  uint32_t message, microbatch, role, action;
  uint32_t parts, labelBytes;
};
struct Part {
  uint64_t bytes;
  uint64_t dtype;
};
/// Parts and bytes of a label beyond these are not told.
constexpr size_t mostParts = 1000, mostLabelBytes = 256;
constexpr size_t wordBytes =
    sizeof(Word) + mostParts * sizeof(Part) + mostLabelBytes;

std::vector<std::byte> wordOf(const Transfer &transfer) {
  const size_t parts = std::min(transfer.parts.size(), mostParts);
  const std::string_view label = transfer.label.substr(0, mostLabelBytes);
  const Word word{.message = transfer.message,
                  .microbatch = transfer.microbatch,
                  .role = transfer.role,
                  .action = transfer.action,
                  .parts = static_cast<uint32_t>(parts),
                  .labelBytes = static_cast<uint32_t>(label.size())};
  std::vector<std::byte> text(sizeof word + parts * sizeof(Part) +
                              label.size());
  std::memcpy(text.data(), &word, sizeof word);
  for (size_t i = 0; i < parts; ++i) {
    const Part part{transfer.parts[i].bytes,
                    static_cast<uint64_t>(transfer.parts[i].dtype)};
    std::memcpy(text.data() + sizeof word + i * sizeof part, &part,
                sizeof part);
  }
  std::memcpy(text.data() + text.size() - label.size(), label.data(),
              label.size());
  return text;
}

/// As the other end has it; the label is that of `text`.
Transfer read(const std::vector<std::byte> &text) {
  Word word;
  std::memcpy(&word, text.data(), sizeof word);
  Transfer transfer;
  transfer.message = word.message;
  transfer.microbatch = word.microbatch;
  transfer.role = word.role;
  transfer.action = word.action;
  for (size_t i = 0; i < word.parts; ++i) {
    Part part;
    std::memcpy(&part, text.data() + sizeof word + i * sizeof part,
                sizeof part);
    transfer.parts.push_back({nullptr, static_cast<size_t>(part.bytes),
                              static_cast<DType>(part.dtype)});
  }
  transfer.label = {reinterpret_cast<const char *>(text.data()) + sizeof word +
                        word.parts * sizeof(Part),
                    word.labelBytes};
  return transfer;
}

} // namespace

//===----------------------------------------------------------------------===//
// The two threads
//===----------------------------------------------------------------------===//

MpiChannel::MpiChannel(MpiEngine &engine, MpiGroupHandle handle,
                       const Edge &edge, bool sends, const SpinPolicy &spin)
    : engine(engine), handle(handle), edge(edge), sends(sends), spin(spin),
      failures(engine, handle, edge.tag + failureTag, {edge.peer}) {
  for (size_t i = 0; i < edge.capacity; ++i)
    ring.emplace_back(*this);
}

uint64_t MpiChannel::start(const Transfer &transfer) {
  const uint64_t number = started++;
  ring[number % ring.size()].start(transfer, number);
  return number;
}

Status MpiChannel::wait(uint64_t ticket) {
  Slot &slot = ring[ticket % ring.size()];
  WaitBudget budget(slot.transfer->timeout);
  if (!engine.waitFor(slot, spin, budget)) {
    if (!slot.isMet.load())
      (void)fail(slot.missing(false));
    engine.waitFor(slot, spin);
  }
  return slot.outcome;
}

Status MpiChannel::stop(const Status &reason) {
  const std::lock_guard lock(failureMutex);
  if (firstFailure.ok())
    firstFailure = reason;
  hasFailed.store(true);
  return firstFailure;
}

Status MpiChannel::fail(const Status &reason) {
  const bool isFirst = !hasFailed.load();
  const Status first = stop(reason);
  if (isFirst && first == reason)
    failures.tell(first);
  return first;
}

Status MpiChannel::failure() {
  const std::lock_guard lock(failureMutex);
  return firstFailure;
}

void MpiChannel::finishTasks() {
  if (!std::ranges::all_of(ring, &Slot::isFinished))
    (void)stop(unavailable("the queue has ended"));
  for (const Slot &slot : ring)
    engine.waitFor(slot, spin);
  failures.finish(spin);
}

void MpiChannel::close(MpiLibrary &library) { failures.close(library); }

//===----------------------------------------------------------------------===//
// A transfer
//===----------------------------------------------------------------------===//

void MpiChannel::Slot::start(const Transfer &started, uint64_t itsNumber) {
  transfer = &started;
  number = itsNumber;
  outcome = {};
  isMet.store(false);
  lastWait.reset();
  state = State::Word;
  isPosted = false;
  begin();
  channel.engine.start(*this);
}

std::string MpiChannel::Slot::post(MpiLibrary &library) {
  isPosted = true;
  ownWord = wordOf(*transfer);
  theirWord.resize(wordBytes);
  const Edge &edge = channel.edge;
  const int mine = edge.tag + (channel.sends ? senderTag : receiverTag);
  const int theirs = edge.tag + (channel.sends ? receiverTag : senderTag);
  std::string problem = channel.failures.expect(library);
  if (problem.empty())
    problem = library.receive(channel.handle, theirWord.data(),
                              theirWord.size(), edge.peer, theirs, request);
  isWordExpected = problem.empty();
  if (problem.empty())
    problem = words.send(library, channel.handle, ownWord.data(),
                         ownWord.size(), edge.peer, mine);
  return problem;
}

std::string MpiChannel::Slot::postData(MpiLibrary &library) {
  const int tag = channel.edge.tag + dataTag;
  for (const Transfer::Part &part : transfer->parts) {
    std::string problem =
        channel.sends ? data.send(library, channel.handle, part.memory,
                                  part.bytes, channel.edge.peer, tag)
                      : data.receive(library, channel.handle, part.memory,
                                     part.bytes, channel.edge.peer, tag);
    if (!problem.empty())
      return problem;
  }
  return "";
}

Status MpiChannel::Slot::compare() const {
  const Transfer theirs = read(theirWord);
  const Edge &edge = channel.edge;
  return channel.sends
             ? checkSameTransfer(*transfer, edge.sender, theirs, edge.receiver)
             : checkSameTransfer(theirs, edge.sender, *transfer, edge.receiver);
}

/// Whether the other end has not started it, and does not any more.
bool MpiChannel::Slot::waitsInVain() {
  if (isMet.load() || !channel.engine.hasEnded(channel.edge.peer))
    return false;
  if (!lastWait)
    lastWait.emplace(latestArrival);
  return lastWait->isSpent();
}

Status MpiChannel::Slot::missing(bool hasPeerEnded) const {
  const Edge &edge = channel.edge;
  const bool sends = channel.sends;
  return missingTransfer(*transfer, sends, sends ? edge.sender : edge.receiver,
                         sends ? edge.receiver : edge.sender, hasPeerEnded);
}

Status MpiChannel::Slot::step(MpiLibrary &library, bool &hasMoved) {
  if (channel.hasFailed.load())
    return channel.failure();
  std::string problem;
  if (!isPosted) {
    hasMoved = true;
    problem = post(library);
  }
  // Data goes in the order of the transfers, whose words may be seen out of it.
  if (problem.empty() && state == State::Word && number == channel.nextNumber) {
    bool isDone = false;
    size_t bytes = 0;
    problem = library.test(request, isDone, bytes);
    isWordExpected = !isDone;
    if (isDone && problem.empty()) {
      hasMoved = true;
      WEFT_RETURN_IF_ERROR(compare());
      isMet.store(true);
      ++channel.nextNumber;
      state = State::Data;
      problem = postData(library);
    }
  }
  if (problem.empty())
    problem = words.test(library, hasMoved);
  if (problem.empty() && state == State::Data)
    problem = data.test(library, hasMoved);
  if (!problem.empty())
    return unavailable(problem);
  if (hasMoved)
    budget = WaitBudget(transfer->timeout);
  if (waitsInVain())
    return missing(true);
  // Before the other end has started it, whoever waits counts.
  return state == State::Data && budget.isSpent() ? missing(false) : Status();
}

bool MpiChannel::Slot::progress(MpiLibrary &library) {
  bool hasMoved = false;
  if (state != State::Draining) {
    Status status = step(library, hasMoved), told;
    if (status.ok() && state == State::Data && data.areComplete() &&
        words.areComplete()) {
      finish();
      return true;
    }
    if (status.ok() && ++looks % 16 == 0)
      told = channel.failures.told(library);
    if (status.ok() && told.ok())
      return hasMoved;
    outcome = status.ok() ? channel.stop(told) : channel.fail(status);
    state = State::Draining;
    budget = WaitBudget(1s);
    data.cancelReceives(library);
    if (isWordExpected)
      withdraw(library, request);
    isWordExpected = false;
    return true;
  }
  (void)words.test(library, hasMoved);
  (void)data.test(library, hasMoved);
  if (data.areComplete() && words.areComplete()) {
    finish();
  } else if (budget.isSpent()) {
    channel.engine.giveUp(outcome);
    finish();
  }
  return hasMoved;
}

void MpiChannel::Slot::abandon(const Status &reason) {
  outcome = channel.stop(reason);
  finish();
}

} // namespace weft::runtime
