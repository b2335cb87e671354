//===- Watchdog.cpp - Watches over a rank and its peers ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "watch/Watchdog.h"

#include "launch/Arrival.h"
#include "launch/Store.h"
#include "watch/FailureReport.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace weft::runtime {

using namespace std::chrono_literals;

static constexpr auto checkInterval = 50ms;
/// How often the store is asked for a failure, and told of a move and of none.
static constexpr auto askInterval = 250ms;
static constexpr auto publishInterval = 500ms;
static constexpr auto lifeSignInterval = 5s;

static int64_t systemMilliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

static std::string progressKey(int rank) {
  return fmt::format("progress/{}", rank);
}

Watchdog::Watchdog(Bootstrap &bootstrap, WatchedRank &rank,
                   WatchdogOptions options)
    : bootstrap(bootstrap), rank(rank), options(std::move(options)),
      lastLook(Clock::now()), thread([this] { loop(); }) {}

Watchdog::~Watchdog() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isStopping = true;
  }
  wake.notify_all();
  thread.join();
}

//===----------------------------------------------------------------------===//
// The thread of the rank
//===----------------------------------------------------------------------===//

void Watchdog::attach() {
  recorder.record(FlightEvent::Attach, 0, 0, 0);
  move(RankState::Attaching);
}

void Watchdog::begin(uint32_t newEntry) {
  hasRun.resize(std::max<size_t>(hasRun.size(), newEntry + 1));
  isFirstRun.store(!hasRun[newEntry]);
  hasRun[newEntry] = true;
  entry.store(newEntry);
  run.fetch_add(1);
  recorder.record(FlightEvent::RunBegins, run.load(), newEntry, 0);
  runBegan = Clock::now();
  move(RankState::Running);
}

void Watchdog::end() {
  recorder.record(FlightEvent::RunEnds, run.load(), entry.load(), 0);
  constexpr size_t remembered = 31;
  const int64_t duration = (Clock::now() - runBegan).count();
  if (durations.size() < remembered)
    durations.push_back(duration);
  else
    durations[run.load() % remembered] = duration;
  std::array<int64_t, remembered> sorted;
  const auto last =
      std::copy(durations.begin(), durations.end(), sorted.begin());
  const auto middle = sorted.begin() + durations.size() / 2;
  std::nth_element(sorted.begin(), middle, last);
  medianRun.store(*middle);
  move(RankState::Idle);
}

void Watchdog::detach() {
  recorder.record(FlightEvent::Detach, run.load(), entry.load(), 0);
  move(RankState::Detaching);
}

void Watchdog::report(const Status &failure) {
  std::lock_guard<std::mutex> lock(reported);
  if (pendingReport.ok())
    pendingReport = failure;
}

//===----------------------------------------------------------------------===//
// The thread of the watchdog
//===----------------------------------------------------------------------===//

void Watchdog::loop() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!isStopping) {
    lock.unlock();
    look();
    lock.lock();
    wake.wait_for(lock, checkInterval, [&] { return isStopping; });
  }
  // A failure that was found at the very end is told all the same.
  std::lock_guard<std::mutex> last(reported);
  if (!pendingReport.ok() && !hasFailed.load())
    stopJob(pendingReport);
}

Progress Watchdog::here() const {
  const RankState now = state.load();
  return {now, run.load(), entry.load(),
          now == RankState::Running ? rank.begunCommunications() : Begun{}};
}

std::chrono::nanoseconds Watchdog::allowed() const {
  if (seen.state != RankState::Running)
    return options.setup;
  if (isFirstRun.load())
    return times(4, options.deadline);
  return std::max(options.deadline,
                  std::chrono::nanoseconds(10 * medianRun.load()));
}

void Watchdog::look() {
  const Clock::time_point now = Clock::now();
  // Of a longer gap the process was stopped in most, and its device or its
  // peers may be what has to come next.
  still +=
      std::min<std::chrono::nanoseconds>(now - lastLook, 4 * checkInterval);
  lastLook = now;
  const Progress progress = here();
  if (progress != seen) {
    seen = progress;
    still = {};
  }
  publish(progress, now);
  const bool isDone = progress.state == RankState::Gone;
  if (hasFailed.load()) {
    // A rank between two runs learns of the failure when it begins the next.
    if (progress.state == RankState::Idle)
      failedAt = now;
    if (!isDone && !isPastPatience && now - failedAt > options.patience) {
      isPastPatience = true;
      rank.abortProcess(fmt::format(
          "rank {} did not let go of its device within {} after the failure",
          bootstrap.launch().rank, describeDuration(options.patience)));
    }
    return;
  }
  {
    std::lock_guard<std::mutex> lock(reported);
    if (!pendingReport.ok())
      return stopJob(pendingReport);
  }
  if (isDone)
    return;
  if (Status status = rank.asyncError(); !status.ok())
    return stopJob(status);
  if (now - lastAsked > askInterval) {
    lastAsked = now;
    if (Status status = bootstrap.failure(); !status.ok())
      return stopJob(status);
  }
  if (progress.state != RankState::Idle && still > allowed())
    stopJob(diagnose(progress));
}

void Watchdog::publish(const Progress &progress, Clock::time_point now) {
  const auto since = now - lastPublished;
  if (since < publishInterval ||
      (progress == published && since < lifeSignInterval))
    return;
  lastPublished = now;
  published = progress;
  // A store that is gone shows itself when it is asked for a failure.
  (void)bootstrap.store().set(
      progressKey(bootstrap.launch().rank),
      encode(ReportedProgress{progress, systemMilliseconds()}));
}

std::vector<Progress> Watchdog::progressOfAll() const {
  std::vector<Progress> all;
  for (int r = 0; r < bootstrap.launch().world; ++r) {
    const auto text = bootstrap.store().find(progressKey(r));
    const auto reported =
        text.ok() && *text ? decodeProgress(**text) : std::nullopt;
    all.push_back(reported ? reported->progress : Progress());
  }
  return all;
}

/// In each queue the last one that a rank has begun.
static std::vector<Communication> lastBegun(const Progress &progress) {
  std::vector<Communication> begun;
  for (size_t queue = 0; queue < progress.begun.size(); ++queue)
    if (progress.begun[queue] != 0)
      begun.push_back({queue, progress.begun[queue] - 1});
  return begun;
}

std::string Watchdog::describe(int number, const Progress &progress) const {
  switch (progress.state) {
  case RankState::Absent:
    return fmt::format("rank {} has reported nothing", number);
  case RankState::Attaching:
    return fmt::format("rank {} creates communicators", number);
  case RankState::Idle:
    return fmt::format("rank {} is between runs, after run {}", number,
                       progress.run);
  case RankState::Detaching:
  case RankState::Gone:
    return fmt::format("rank {} has ended its work", number);
  case RankState::Running:
    break;
  }
  std::string begun;
  for (Communication which : lastBegun(progress))
    begun +=
        fmt::format("{}{}", begun.empty() ? "after the start of " : " and ",
                    rank.nameOf(progress.entry, which, number));
  return fmt::format("rank {} is in run {} {}", number, progress.run,
                     begun.empty() ? "before its first collective" : begun);
}

std::vector<Watchdog::Waiting>
Watchdog::findWaiting(const std::vector<Progress> &all) const {
  std::vector<Waiting> waiting;
  for (int r = 0; r < static_cast<int>(all.size()); ++r)
    for (Communication which : lastBegun(all[r])) {
      std::vector<int> missing;
      for (int partner : rank.partners(all[r].entry, which, r))
        if (compare(all[partner], all[r], which.queue) < 0)
          missing.push_back(partner);
      if (all[r].state == RankState::Running && !missing.empty())
        waiting.push_back({r, which, std::move(missing)});
    }
  return waiting;
}

/// Of what ranks wait in, what no rank that is missing there is kept from by
/// other waiting; of several the furthest.
const Watchdog::Waiting *
Watchdog::findCause(const std::vector<Waiting> &waiting,
                    const std::vector<Progress> &all) const {
  const auto isKept = [&](const Waiting &one) {
    return std::ranges::any_of(waiting, [&](const Waiting &other) {
      const Progress &progress = all[other.rank];
      return std::ranges::count(one.missing, other.rank) != 0 &&
             progress.run == all[one.rank].run &&
             rank.isHeldUp(progress.entry, one.which, other.which, other.rank);
    });
  };
  const auto place = [&](const Waiting &one) {
    const Progress &progress = all[one.rank];
    return std::tuple(!isKept(one), progress.run,
                      rank.positionOf(progress.entry, one.which, one.rank));
  };
  const auto found = std::ranges::max_element(waiting, {}, place);
  return found == waiting.end() ? nullptr : &*found;
}

Status Watchdog::diagnose(const Progress &mine) {
  std::vector<Progress> all = progressOfAll();
  const int self = bootstrap.launch().rank;
  all[self] = mine;
  const std::string within = describeDuration(allowed());
  const std::vector<Waiting> waiting = findWaiting(all);
  const Waiting *cause = findCause(waiting, all);
  const std::vector<Communication> begun = lastBegun(mine);
  std::vector<int> missing;

  std::string text;
  if (cause) {
    missing = cause->missing;
    const uint32_t entryOf = all[cause->rank].entry;
    text = fmt::format(
        "{} on rank {}: {} did not arrive within {}{}",
        rank.nameOf(entryOf, cause->which, cause->rank), cause->rank,
        shortList(missing), within,
        describeCause(rank.causeOf(entryOf, cause->which, cause->rank)));
  } else if (mine.state == RankState::Running && !begun.empty()) {
    const Communication last =
        *std::ranges::max_element(begun, {}, [&](Communication which) {
          return rank.positionOf(mine.entry, which, self);
        });
    text = fmt::format(
        "{} on rank {}: all its ranks have arrived, but it, or the computation "
        "after it, did not end within {}{}",
        rank.nameOf(mine.entry, last, self), self, within,
        describeCause(rank.causeOf(mine.entry, last, self)));
  } else {
    text = fmt::format("{} and has made no progress for {}",
                       describe(self, mine), within);
    for (int r = 0; r < static_cast<int>(all.size()); ++r)
      if (compare(all[r], mine, /*queue=*/0) < 0)
        missing.push_back(r);
  }
  constexpr size_t limit = 8;
  for (size_t i = 0; i < std::min(missing.size(), limit); ++i)
    text += fmt::format("{} {}", i == 0 ? ";" : ",",
                        describe(missing[i], all[missing[i]]));
  if (missing.size() > limit)
    text += ", ...";
  return deadlineExceeded(std::move(text));
}

void Watchdog::stopJob(const Status &failure) {
  failedAt = Clock::now();
  hasFailed.store(true);
  bootstrap.fail(failure.message());
  rank.fail(failure);
  // Twice: the process may end before the library has answered.
  writeReport(failure.message(), "");
  writeReport(failure.message(), rank.libraryReport());
}

void Watchdog::writeReport(const std::string &failure,
                           const std::string &ofLibrary) const {
  const Launch &launch = bootstrap.launch();
  std::string text = fmt::format(
      "weft: rank {} of {}, job \"{}\", start {}\n{}\n\nprogress:\n",
      launch.rank, launch.world, launch.job, launch.restart, failure);
  const std::vector<Progress> all = progressOfAll();
  for (size_t r = 0; r < all.size(); ++r)
    text += "  " + describe(static_cast<int>(r), all[r]) + "\n";
  if (!ofLibrary.empty())
    text += "\n" + ofLibrary;
  text += "\nlast events of this rank:\n" + recorder.toString();
  writeFailureReport(options.reportFolder, launch.rank, text);
}

} // namespace weft::runtime
