//===- Bootstrap.cpp - The ranks of a job meet ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/Bootstrap.h"

#include "comm/ForkDepth.h"
#include "launch/Arrival.h"
#include "launch/Heartbeat.h"
#include "launch/Host.h"
#include "launch/Number.h"
#include "launch/TcpStore.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

namespace weft::runtime {

using namespace std::chrono_literals;

/// How much longer the others wait than rank 0, whose message is better.
static constexpr auto grace = 2s;
/// How long rank 0 waits for the others to leave.
static constexpr auto longestLeave = 1s;
/// How long rank 0 may take to answer where nobody is taken for stopped.
static constexpr auto longestAnswer = 60s;

/// The ranks that have ended: "0,3". And that all have.
static constexpr const char *endedKey = "ended";
static constexpr const char *allEndedKey = "ended/all";
static std::string endedKeyOf(int rank) {
  return fmt::format("ended/{}", rank);
}

Result<std::chrono::nanoseconds> heartbeatOf(double seconds) {
  if (seconds == 0 || (seconds >= 1 && seconds <= 1e9))
    return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
  return invalidArgument(fmt::format(
      "heartbeat must be 0 or from 1 to 1e9 seconds, got {}", seconds));
}

Bootstrap::Bootstrap(Launch launch, std::unique_ptr<Store> store)
    : theLaunch(std::move(launch)), theStore(std::move(store)),
      depth(forkDepth()) {}

Bootstrap::~Bootstrap() {
  // A forked child has none of the threads, and its parent the connection.
  if (depth != forkDepth()) {
    (void)heartbeat.release();
    (void)theStore.release();
    return;
  }
  heartbeat.reset();
  leave();
  theStore->leave();
}

void Bootstrap::leave() {
  sayEnded();
  (void)theStore->set(leftKey(theLaunch.rank), "");
  if (theLaunch.rank != 0)
    return;
  // One that was lost never says so.
  WaitBudget budget(longestLeave);
  for (int r = 1; r < theLaunch.world; ++r) {
    const auto lost = theStore->find(lostKey(r));
    if (lost.ok() && !*lost)
      (void)theStore->wait(leftKey(r), budget);
  }
}

Result<std::unique_ptr<Bootstrap>>
Bootstrap::connect(Launch launch, std::chrono::nanoseconds timeout,
                   std::chrono::nanoseconds heartbeat) {
  const bool beats = heartbeat.count() != 0;
  Result<std::unique_ptr<Store>> store =
      launch.world == 1
          ? std::make_unique<MemoryStore>()
          : connectTcpStore(launch, timeout, beats ? heartbeat : longestAnswer);
  if (!store.ok())
    return store.status();
  std::unique_ptr<Bootstrap> bootstrap(
      new Bootstrap(std::move(launch), *std::move(store)));
  // Rank 0 shows that it lives by answering.
  if (beats && bootstrap->theLaunch.rank != 0) {
    WEFT_ASSIGN_OR_RETURN(bootstrap->heartbeat,
                          Heartbeat::start(*bootstrap->theStore, heartbeat));
  }
  WEFT_RETURN_IF_ERROR(bootstrap->findLocalRank(timeout));
  return bootstrap;
}

/// The launcher's word, or the order of the ranks with the same host.
Status Bootstrap::findLocalRank(std::chrono::nanoseconds timeout) {
  const std::string mine = hostIdentity();
  WEFT_ASSIGN_OR_RETURN(hosts, gather("their hosts", mine, timeout));
  int before = 0, all = 0;
  for (int r = 0; r < theLaunch.world; ++r) {
    all += hosts[r] == mine;
    before += r < theLaunch.rank && hosts[r] == mine;
  }
  if (theLaunch.localRank < 0)
    theLaunch.localRank = before;
  if (theLaunch.localWorld < 0)
    theLaunch.localWorld = all;
  return {};
}

std::string Bootstrap::onHost(int rank) const {
  const bool isOne = std::ranges::all_of(
      hosts, [&](const std::string &host) { return host == hosts.front(); });
  return isOne ? "" : " on " + hosts[rank].substr(0, hosts[rank].find(' '));
}

int Bootstrap::firstOnHost(int rank) const {
  return static_cast<int>(std::ranges::find(hosts, hosts[rank]) -
                          hosts.begin());
}

std::string Bootstrap::nextKey() {
  return fmt::format("exchange-{}", exchanges++);
}

/// Every rank sees by itself who has come to an exchange.
Status Bootstrap::missing(const std::string &key,
                          std::chrono::nanoseconds timeout) {
  std::set<int> arrived;
  for (int r = 0; r < theLaunch.world; ++r) {
    WEFT_ASSIGN_OR_RETURN(const auto value,
                          theStore->find(fmt::format("{}/{}", key, r)));
    if (value)
      arrived.insert(r);
  }
  return notArrived(theLaunch, arrived, theStore->address(), timeout);
}

/// From rank 0.
Result<std::optional<std::string>>
Bootstrap::await(const std::string &key, std::chrono::nanoseconds timeout) {
  WaitBudget budget(timeout);
  for (Backoff backoff;; backoff.sleep(budget)) {
    // What was there before a failure holds.
    const Status failed = failure();
    WEFT_ASSIGN_OR_RETURN(const bool gone, isGone(0));
    WEFT_ASSIGN_OR_RETURN(auto value, theStore->find(key));
    if (value)
      return value;
    WEFT_RETURN_IF_ERROR(failed);
    if (gone)
      return endOf(0);
    if (budget.isSpent())
      return value;
  }
}

void Bootstrap::sayEnded() {
  (void)theStore->set(endedKeyOf(theLaunch.rank), "");
  // Of two ranks that do so at once one may be lost, which repeats it.
  std::set<int> all = ended();
  all.insert(theLaunch.rank);
  (void)theStore->set(endedKey, fmt::format("{}", fmt::join(all, ",")));
}

std::set<int> Bootstrap::ended() {
  std::set<int> ranks;
  const auto found = theStore->find(endedKey);
  if (!found.ok() || !*found)
    return ranks;
  std::istringstream list(**found);
  for (std::string rank; std::getline(list, rank, ',');)
    if (const auto number = parseNumber(rank, 0, theLaunch.world - 1))
      ranks.insert(static_cast<int>(*number));
  return ranks;
}

Result<bool> Bootstrap::isGone(int rank) {
  WEFT_ASSIGN_OR_RETURN(const auto ended, theStore->find(endedKeyOf(rank)));
  WEFT_ASSIGN_OR_RETURN(const auto lost, theStore->find(lostKey(rank)));
  return ended || lost;
}

/// Of one that is gone without a failure.
Status Bootstrap::endOf(int rank) const {
  return unavailable(
      fmt::format("process {}{} has come to the end of its program, but "
                  "process {} waits for it",
                  rank, onHost(rank), theLaunch.rank));
}

Result<bool> Bootstrap::end() {
  WEFT_RETURN_IF_ERROR(failure());
  if (!ended().contains(theLaunch.rank))
    sayEnded();
  if (theLaunch.rank != 0) {
    WEFT_ASSIGN_OR_RETURN(const auto all, theStore->find(allEndedKey));
    if (all)
      WEFT_RETURN_IF_ERROR(theStore->set(leftKey(theLaunch.rank), ""));
    return all.has_value();
  }
  // It may hold the store, which the others ask until they know.
  WEFT_ASSIGN_OR_RETURN(const bool haveEnded, have(endedKeyOf));
  if (haveEnded)
    WEFT_RETURN_IF_ERROR(theStore->set(allEndedKey, ""));
  return haveEnded ? have(leftKey) : haveEnded;
}

/// Whether all other ranks have set a key.
Result<bool> Bootstrap::have(std::string (*keyOf)(int)) {
  for (int r = 1; r < theLaunch.world; ++r) {
    WEFT_ASSIGN_OR_RETURN(const auto found, theStore->find(keyOf(r)));
    if (!found)
      return false;
  }
  return true;
}

void Bootstrap::fail(const std::string &message) {
  const auto earlier = theStore->find(failureKey);
  if (earlier.ok() && !*earlier)
    (void)theStore->set(failureKey, message);
}

void Bootstrap::failHere(const std::string &message) {
  fail(fmt::format("process {}{}: {}", theLaunch.rank, onHost(theLaunch.rank),
                   message));
}

Status Bootstrap::failure(const std::function<std::string(int)> &nameOf) {
  const auto found = theStore->find(failureKey);
  if (found.ok() && !*found)
    return {};
  const std::string message =
      found.ok() ? **found : std::string(found.status().message());
  for (int r = 0; r < theLaunch.world; ++r)
    if (const std::string rank = lostRank(r); message.starts_with(rank + " "))
      return unavailable((nameOf ? nameOf(r) : rank + onHost(r)) +
                         message.substr(rank.size()));
  return unavailable(message);
}

/// Rank 0's part of a gather.
Result<std::vector<std::string>>
Bootstrap::collect(const std::string &key, const std::string &value,
                   std::chrono::nanoseconds timeout) {
  WaitBudget budget(timeout);
  std::vector<std::string> values{value};
  for (int r = 1; r < theLaunch.world; ++r) {
    Backoff backoff;
    while (static_cast<int>(values.size()) == r) {
      WEFT_ASSIGN_OR_RETURN(const bool gone, isGone(r));
      WEFT_ASSIGN_OR_RETURN(auto found,
                            theStore->find(fmt::format("{}/{}", key, r)));
      if (found) {
        values.push_back(*std::move(found));
        break;
      }
      WEFT_RETURN_IF_ERROR(failure());
      if (gone)
        return endOf(r);
      if (budget.isSpent())
        return missing(key, timeout);
      backoff.sleep(budget);
    }
  }
  return values;
}

/// Rank 0's decision as one value: a code, then texts with their lengths.
static std::string encode(const Status &status,
                          const std::vector<std::string> &values) {
  std::string text = fmt::format("{}\n", static_cast<int>(status.code()));
  if (!status.ok())
    return text + status.message();
  for (const std::string &value : values)
    text += fmt::format("{}\n{}", value.size(), value);
  return text;
}

static Result<std::vector<std::string>> decode(std::string_view text) {
  const auto damaged = [] {
    return internalError("what rank 0 has put into the store is damaged");
  };
  const auto takeNumber = [&]() -> std::optional<int64_t> {
    const size_t end = text.find('\n');
    const auto number = parseNumber(text.substr(0, end), 0);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return number;
  };
  const auto code = takeNumber();
  if (!code || *code > static_cast<int>(StatusCode::Internal))
    return damaged();
  if (*code != 0)
    return Status(static_cast<StatusCode>(*code), std::string(text));
  std::vector<std::string> values;
  while (!text.empty()) {
    const auto bytes = takeNumber();
    if (!bytes || *bytes > static_cast<int64_t>(text.size()))
      return damaged();
    values.emplace_back(text.substr(0, *bytes));
    text.remove_prefix(*bytes);
  }
  return values;
}

Result<std::vector<std::string>>
Bootstrap::gather(const std::string &what, const std::string &value,
                  std::chrono::nanoseconds timeout) {
  const std::string key = nextKey(), all = key + "/all";
  // Values that all ranks have taken need no memory any more: rank 0 has read
  // the others' of the last gather, and all have read the decision before it.
  for (const std::string &taken : takenKeys)
    WEFT_RETURN_IF_ERROR(theStore->set(taken, ""));
  takenKeys = std::exchange(readKeys, {});
  if (theLaunch.rank == 0)
    readKeys.push_back(all);
  takenKeys.push_back(fmt::format("{}/{}", key, theLaunch.rank));
  WEFT_RETURN_IF_ERROR(
      theStore->set(fmt::format("{}/{}", key, theLaunch.rank), value));
  Result<std::vector<std::string>> values = std::vector<std::string>();
  if (theLaunch.rank == 0) {
    values = collect(key, value, timeout);
    WEFT_RETURN_IF_ERROR(theStore->set(
        all, encode(values.status(),
                    values.ok() ? *values : std::vector<std::string>())));
  } else {
    WEFT_ASSIGN_OR_RETURN(const auto decision, await(all, timeout + grace));
    if (decision)
      values = decode(*decision);
    else
      values = missing(key, timeout + grace);
  }
  if (!values.ok())
    return values.status().withContext("exchanging " + what);
  return values;
}

Result<std::string> Bootstrap::broadcast(const std::string &what,
                                         const std::string &value,
                                         std::chrono::nanoseconds timeout) {
  const std::string key = nextKey();
  if (theLaunch.rank == 0) {
    WEFT_RETURN_IF_ERROR(theStore->set(key, value));
    return value;
  }
  WEFT_ASSIGN_OR_RETURN(auto found, await(key, timeout));
  if (found)
    return *std::move(found);
  return deadlineExceeded(fmt::format(
      "rank {} waited {} at {} for rank 0 to send {}", theLaunch.rank,
      describeDuration(timeout), theStore->address(), what));
}

Status Bootstrap::barrier(const std::string &what,
                          std::chrono::nanoseconds timeout) {
  return gather(what, "", timeout).status();
}

} // namespace weft::runtime
