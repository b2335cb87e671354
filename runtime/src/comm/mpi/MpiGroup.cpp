//===- MpiGroup.cpp - Where the ranks of several processes meet -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiGroup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace weft::runtime {

using namespace std::chrono_literals;

static constexpr int wordTag = 0, groupDataTag = 1, groupFailureTag = 2;
/// Up to here the library sends without asking the receiver.
static constexpr size_t eagerBytes = 2048;
/// How much longer the other processes wait than one in which a rank is
/// missing, whose message is better.
static std::chrono::nanoseconds withGrace(std::chrono::nanoseconds timeout) {
  return timeout > noTimeout / 2
             ? noTimeout
             : timeout + std::min<std::chrono::nanoseconds>(timeout / 4, 2s);
}

ProcessRanks::ProcessRanks(int ranks, std::vector<std::string> places)
    : places(std::move(places)) {
  const auto processes = static_cast<int64_t>(this->places.size());
  for (int64_t p = 0; p <= processes; ++p)
    starts.push_back(static_cast<int>(p * ranks / processes));
}

std::string ProcessRanks::nameOf(int process) const {
  return fmt::format("process {}{}", process, places[process]);
}

int ProcessRanks::processOf(int rank) const {
  return static_cast<int>(std::ranges::upper_bound(starts, rank) -
                          starts.begin()) -
         1;
}

MpiGroup::MpiGroup(MpiEngine &engine, MpiGroupHandle handle,
                   const std::vector<int> &worldRanks,
                   const ProcessRanks &ranks, std::byte *hostMemory,
                   const SpinPolicy &spin)
    : receivesFrom(worldRanks.size()), engine(engine), handle(handle),
      members(worldRanks), spin(spin), processOfMember(worldRanks.size()),
      localOfMember(worldRanks.size(), -1) {
  for (size_t i = 0; i < members.size(); ++i) {
    const int process = ranks.processOf(members[i]);
    const auto at =
        std::ranges::lower_bound(theProcesses, process, {}, &Process::process);
    if (at != theProcesses.end() && at->process == process)
      at->members.push_back(static_cast<int>(i));
    else
      theProcesses.insert(
          at, {process, ranks.nameOf(process), {static_cast<int>(i)}});
  }
  std::vector<int> here;
  size_t most = 0;
  for (size_t p = 0; p < theProcesses.size(); ++p) {
    most = std::max(most, theProcesses[p].members.size());
    for (int member : theProcesses[p].members) {
      processOfMember[member] = p;
      if (theProcesses[p].process != engine.process())
        continue;
      own = p;
      localOfMember[member] = static_cast<int>(here.size());
      here.push_back(members[member]);
    }
  }
  localGroup = std::make_unique<InProcessGroup>(here, spin);
  const size_t bytes = sizeof(Word) + most * sizeof(int32_t) + longestText;
  for (size_t p = 0; p < theProcesses.size(); ++p)
    if (p != own)
      peers.push_back({.process = p, .word = std::vector<std::byte>(bytes)});
  if (hostMemory) {
    host.emplace(hostMemory, theProcesses.size(), own);
    return;
  }
  std::vector<int> others;
  for (const Peer &peer : peers)
    others.push_back(static_cast<int>(peer.process));
  failures.emplace(engine, handle, groupFailureTag, std::move(others));
}

MpiGroup::~MpiGroup() = default;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

std::vector<std::byte> MpiGroup::wordOf(Word word,
                                        std::span<const int32_t> receiveFrom,
                                        std::string_view text) {
  static_assert(std::is_trivially_copyable_v<Word>);
  text = text.substr(0, longestText);
  word.textBytes = static_cast<uint32_t>(text.size());
  word.members = static_cast<uint32_t>(receiveFrom.size());
  std::vector<std::byte> message(sizeof word + receiveFrom.size_bytes() +
                                 text.size());
  std::byte *at = message.data();
  const auto put = [&](const void *from, size_t bytes) {
    at = std::copy_n(static_cast<const std::byte *>(from), bytes, at);
  };
  put(&word, sizeof word);
  put(receiveFrom.data(), receiveFrom.size_bytes());
  put(text.data(), text.size());
  return message;
}

MpiGroup::Word MpiGroup::read(const std::vector<std::byte> &message) {
  Word word;
  std::memcpy(&word, message.data(), sizeof word);
  return word;
}

std::string MpiGroup::textOf(const std::vector<std::byte> &message) {
  const Word word = read(message);
  return {reinterpret_cast<const char *>(message.data()) + sizeof word +
              word.members * sizeof(int32_t),
          word.textBytes};
}

//===----------------------------------------------------------------------===//
// A round, by the first rank of this process
//===----------------------------------------------------------------------===//

void MpiGroup::setCall(const Call &newCall,
                       std::chrono::nanoseconds newTimeout) {
  call = newCall;
  timeout = newTimeout;
  lastWait.reset();
}

Status MpiGroup::run() {
  budget = WaitBudget(hasWords ? withGrace(timeout) : timeout);
  state = hasWords ? State::Words : State::Data;
  isPosted = false;
  outcome = {};
  begin();
  engine.run(*this, spin);
  return outcome;
}

Status MpiGroup::exchange(const Call &call, std::chrono::nanoseconds timeout,
                          const std::function<void()> &prepare,
                          std::span<const int32_t> receiveFrom) {
  setCall(call, timeout);
  const std::vector<int> &here = theProcesses[own].members;
  for (size_t i = 0; i < receiveFrom.size(); ++i)
    receivesFrom[here[i]] = receiveFrom[i];
  ++rounds;
  ownWord = wordOf({.round = rounds,
                    .shape = call.shape,
                    .planStep = call.planStep,
                    .rank = localGroup->worldRanks()[0]},
                   receiveFrom, call.cause);
  hasWords = true;
  messages.clear();
  const bool isPrepared = receiveFrom.empty();
  if (isPrepared)
    prepare();
  if (host) {
    WEFT_RETURN_IF_ERROR(meetOnHost(ownWord, withGrace(timeout)));
    if (Status agreement = checkAgreement(); !agreement.ok())
      return fail(agreement);
    if (isPrepared)
      return moveRest();
    prepare();
    return moveMore(call, timeout);
  }
  this->prepare = isPrepared ? nullptr : &prepare;
  isEager = false;
  if (isPrepared) {
    isEager = std::ranges::all_of(messages, [](const Message &message) {
      return message.bytes <= eagerBytes;
    });
  }
  return run();
}

Status MpiGroup::moveMore(const Call &call, std::chrono::nanoseconds timeout) {
  setCall(call, timeout);
  hasWords = false;
  if (!host)
    return run();
  WEFT_RETURN_IF_ERROR(meetOnHost({}, timeout));
  return moveRest();
}

/// Puts out a word, if there is one, and the messages of this process that fit,
/// and waits for those of the others.
Status MpiGroup::meetOnHost(std::span<const std::byte> word,
                            std::chrono::nanoseconds patience) {
  if (hasFailed.load())
    return localGroup->failure();
  pieces.clear();
  for (const Message &message : messages)
    if (message.isSend)
      pieces.push_back({message.peer, message.memory, message.bytes});
  areAllOut = host->put(word, pieces);
  const auto isSettled = [&] {
    return host->areAllHere() || hasFailed.load() || !host->failure().ok();
  };
  const auto hasOneEnded = [&] {
    return std::ranges::any_of(peers, [&](const Peer &peer) {
      return hasEnded(peer) && !host->isHere(peer.process);
    });
  };
  bool hasSettled = waitUntil(host->event(), spin, 1ms, isSettled);
  if (!hasSettled) {
    const MpiEngine::Awaiting awaiting(engine);
    waitUntil(host->event(), spin, patience,
              [&] { return isSettled() || hasOneEnded(); });
    hasSettled = waitUntil(host->event(), spin,
                           hasOneEnded() ? latestArrival : 0s, isSettled);
  }
  // Who comes late finds that others have given up before.
  if (const Status failure = host->failure(); !failure.ok())
    return stop(failure);
  if (hasFailed.load())
    return localGroup->failure();
  for (Peer &peer : peers) {
    peer.hasArrived = host->isHere(peer.process);
    if (!hasWords || !peer.hasArrived)
      continue;
    const std::span<const std::byte> theirs = host->wordOf(peer.process);
    peer.word.assign(theirs.begin(), theirs.end());
    takeWord(peer);
  }
  if (!hasSettled)
    return fail(hasWords ? missing() : stalled());
  return {};
}

/// What the others have put out; what is left of the messages is for MPI.
Status MpiGroup::takeFromHost() {
  Status status;
  std::erase_if(messages, [&](const Message &message) {
    if (message.isSend || !status.ok())
      return areAllOut;
    const Result<bool> taken =
        host->take(message.peer, message.memory, message.bytes);
    status = taken.status();
    return taken.ok() && *taken;
  });
  return status;
}

Status MpiGroup::moveRest() {
  if (const Status taken = takeFromHost(); !taken.ok())
    return fail(taken.withContext(describeCall(
        call.shape.operation, call.planStep, localGroup->worldRanks()[0])));
  hasWords = false;
  return messages.empty() ? Status() : run();
}

void MpiGroup::sync() {
  const auto all = static_cast<uint64_t>(localGroup->size());
  if (all == 1)
    return;
  const uint64_t mine = arrivals.fetch_add(1) + 1;
  const uint64_t target = (mine + all - 1) / all * all;
  if (mine == target)
    arrived.notifyAll();
  waitUntil(arrived, spin, noTimeout,
            [&] { return arrivals.load() >= target; });
}

//===----------------------------------------------------------------------===//
// A round, by the engine
//===----------------------------------------------------------------------===//

std::string MpiGroup::postMessages(MpiLibrary &library) {
  std::string problem;
  for (const Message &message : messages) {
    const int peer = static_cast<int>(message.peer);
    if (problem.empty() && message.isSend)
      problem = data.send(library, handle, message.memory, message.bytes, peer,
                          groupDataTag);
    else if (problem.empty())
      problem = data.receive(library, handle, message.memory, message.bytes,
                             peer, groupDataTag);
  }
  return problem;
}

std::string MpiGroup::post(MpiLibrary &library) {
  isPosted = true;
  std::string problem = host ? "" : failures->expect(library);
  for (Peer &peer : peers) {
    const int process = static_cast<int>(peer.process);
    if (!hasWords || !problem.empty())
      continue;
    peer.hasArrived = false;
    problem = library.receive(handle, peer.word.data(), peer.word.size(),
                              process, wordTag, peer.request);
    peer.isExpected = problem.empty();
    if (problem.empty())
      problem = words.send(library, handle, ownWord.data(), ownWord.size(),
                           process, wordTag);
  }
  if (problem.empty() && (!hasWords || isEager))
    problem = postMessages(library);
  return problem;
}

std::string MpiGroup::takeWords(MpiLibrary &library, bool &hasMoved) {
  for (Peer &peer : peers) {
    if (!peer.isExpected)
      continue;
    bool isDone = false;
    size_t bytes = 0;
    std::string problem = library.test(peer.request, isDone, bytes);
    if (!isDone)
      continue;
    hasMoved = true;
    peer.isExpected = false;
    if (!problem.empty())
      return problem;
    peer.hasArrived = true;
    takeWord(peer);
  }
  return "";
}

/// Whom its members receive from in a permutation.
void MpiGroup::takeWord(Peer &peer) {
  const std::vector<int> &theirs = theProcesses[peer.process].members;
  for (size_t i = 0; i < read(peer.word).members; ++i)
    std::memcpy(&receivesFrom[theirs[i]],
                peer.word.data() + sizeof(Word) + i * sizeof(int32_t),
                sizeof(int32_t));
}

static std::string describeCaller(const CallShape &shape, int64_t planStep,
                                  int rank, std::string_view cause) {
  return fmt::format("rank {} calls {}{}{}", rank, describe(shape),
                     planStep < 0 ? "" : fmt::format(" at step {}", planStep),
                     describeCause(cause));
}

/// Every process compares the words in the order of the processes.
Status MpiGroup::checkAgreement() const {
  const std::vector<std::byte> *first = nullptr;
  size_t next = 0;
  for (size_t p = 0; p < theProcesses.size(); ++p) {
    const std::vector<std::byte> &message =
        p == own ? ownWord : peers[next++].word;
    if (!first)
      first = &message;
    const Word a = read(*first), b = read(message);
    if (a.round != b.round)
      return internalError(fmt::format(
          "rank {} is in call {} of its group, and rank {} in call {}", a.rank,
          a.round, b.rank, b.round));
    if (a.shape == b.shape)
      continue;
    return failedPrecondition(fmt::format(
        "{}: the ranks of group {{{}}} call different operations: {}, but {}",
        describeCall(call.shape.operation, call.planStep,
                     localGroup->worldRanks()[0]),
        fmt::join(members, ", "),
        describeCaller(a.shape, a.planStep, a.rank, textOf(*first)),
        describeCaller(b.shape, b.planStep, b.rank, textOf(message))));
  }
  return {};
}

/// "; ranks 2, 3 are in process 1".
static std::string whereTheyAre(const std::vector<int> &members,
                                const MpiGroup::Process &process) {
  std::vector<int> ranks;
  for (int member : process.members)
    ranks.push_back(members[member]);
  return fmt::format("; {} {} in {}", describeRanks(ranks),
                     ranks.size() == 1 ? "is" : "are", process.name);
}

bool MpiGroup::hasEnded(const Peer &peer) const {
  return engine.hasEnded(theProcesses[peer.process].process);
}

/// Whether a process that has not come to this round does not any more.
bool MpiGroup::waitsInVain() {
  if (std::ranges::none_of(peers, [&](const Peer &peer) {
        return !peer.hasArrived && hasEnded(peer);
      }))
    return false;
  if (!lastWait)
    lastWait.emplace(latestArrival);
  return lastWait->isSpent();
}

Status MpiGroup::missing() const {
  std::vector<int> absent;
  std::string where;
  bool someHaveEnded = false;
  for (const Peer &peer : peers)
    if (!peer.hasArrived) {
      const Process &process = theProcesses[peer.process];
      for (int member : process.members)
        absent.push_back(members[member]);
      where += whereTheyAre(members, process);
      if (hasEnded(peer))
        where += ", which has come to the end of its program";
      someHaveEnded |= hasEnded(peer);
    }
  std::ranges::sort(absent);
  const std::string how =
      someHaveEnded
          ? "will not arrive"
          : fmt::format("did not arrive within {}", describeDuration(timeout));
  return deadlineExceeded(fmt::format(
      "{}: {} {}{}{}",
      describeCall(call.shape.operation, call.planStep,
                   localGroup->worldRanks()[0]),
      describeRanks(absent), how, describeCause(call.cause), where));
}

Status MpiGroup::stalled() const {
  std::string where;
  for (const Peer &peer : peers)
    where += whereTheyAre(members, theProcesses[peer.process]);
  return deadlineExceeded(fmt::format(
      "{}: all ranks have arrived, but no data has moved for {}{}{}",
      describeCall(call.shape.operation, call.planStep,
                   localGroup->worldRanks()[0]),
      describeDuration(timeout), describeCause(call.cause), where));
}

/// What failed, or success and no more than that.
Status MpiGroup::step(MpiLibrary &library, bool &hasMoved) {
  if (hasFailed.load())
    return localGroup->failure();
  std::string problem;
  if (!isPosted) {
    hasMoved = true;
    problem = post(library);
  }
  if (problem.empty() && state == State::Words)
    problem = takeWords(library, hasMoved);
  if (problem.empty())
    problem = words.test(library, hasMoved);
  if (problem.empty() && state == State::Words &&
      std::ranges::all_of(peers, &Peer::hasArrived)) {
    WEFT_RETURN_IF_ERROR(checkAgreement());
    state = State::Data;
    budget = WaitBudget(timeout);
    if (prepare)
      (*prepare)();
    if (!isEager)
      problem = postMessages(library);
  }
  // Of data that does not fit, what is called says more.
  if (problem.empty() && state == State::Data)
    problem = data.test(library, hasMoved);
  if (!problem.empty())
    return unavailable(
        fmt::format("{}: {}",
                    describeCall(call.shape.operation, call.planStep,
                                 localGroup->worldRanks()[0]),
                    problem));
  if (hasMoved && state == State::Data)
    budget = WaitBudget(timeout);
  return {};
}

Status MpiGroup::told(MpiLibrary &library) {
  return host ? host->failure() : failures->told(library);
}

bool MpiGroup::progress(MpiLibrary &library) {
  bool hasMoved = false;
  if (state != State::Draining) {
    Status status = step(library, hasMoved), told;
    const bool isComplete = status.ok() && state == State::Data &&
                            data.areComplete() && words.areComplete();
    // Who comes late finds all messages of those that have given up before.
    if (isComplete && hasWords)
      told = this->told(library);
    if (isComplete && told.ok()) {
      finish();
      return true;
    }
    if (status.ok() && told.ok() && ++looks % 16 == 0)
      told = this->told(library);
    if (status.ok() && told.ok() &&
        (budget.isSpent() || (state == State::Words && waitsInVain())))
      status = state == State::Words ? missing() : stalled();
    if (status.ok() && told.ok())
      return hasMoved;
    drain(library, status.ok() ? stop(told) : fail(status));
    return true;
  }
  // What fails now, fails because of what has failed before.
  (void)words.test(library, hasMoved);
  (void)data.test(library, hasMoved);
  if (data.areComplete() && words.areComplete()) {
    finish();
  } else if (budget.isSpent()) {
    engine.giveUp(outcome);
    finish();
  }
  return hasMoved;
}

/// Ends the round with a failure once nobody uses the memory of the ranks any
/// more. A send that the receiver does not want cannot be taken back.
void MpiGroup::drain(MpiLibrary &library, const Status &reason) {
  outcome = reason;
  state = State::Draining;
  budget = WaitBudget(1s);
  data.cancelReceives(library);
}

void MpiGroup::abandon(const Status &reason) {
  outcome = stop(reason);
  finish();
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

void MpiGroup::wake() {
  if (host)
    host->wake();
}

Status MpiGroup::stop(const Status &reason) {
  const Status first = localGroup->fail(reason);
  hasFailed.store(true);
  wake();
  return first;
}

Status MpiGroup::fail(const Status &reason) {
  if (hasFailed.exchange(true))
    return stop(reason);
  const Status first = localGroup->fail(reason);
  if (host)
    host->fail(first);
  else
    failures->tell(first);
  return first;
}

void MpiGroup::finishTasks() {
  if (failures)
    failures->finish(spin);
}

void MpiGroup::close(MpiLibrary &library) {
  for (Peer &peer : peers)
    if (peer.isExpected) {
      withdraw(library, peer.request);
      peer.isExpected = false;
    }
  if (failures)
    failures->close(library);
  if (!hasFailed.load())
    library.freeGroup(handle);
}

} // namespace weft::runtime
