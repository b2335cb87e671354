//===- SessionCore.cpp - The ranks of a session and their threads -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/SessionCore.h"

#include "cuda/CudaRanks.h"
#include "executor/CpuRank.h"
#include "plan/Text.h"

#include <algorithm>
#include <system_error>

namespace weft::runtime {

/// Threads of one process beyond this number are a mistake.
static constexpr int64_t maxRanks = 1024;

static Status checkRequest(const Plan &plan, const SessionOptions &options) {
  if (plan.ranks() > maxRanks)
    return failedPrecondition(
        fmt::format("the plan is for {} ranks, one process runs at most {}",
                    plan.ranks(), maxRanks));
  if (options.threads < 1)
    return invalidArgument(fmt::format(
        "{} threads for each rank, need at least 1", options.threads));
  return {};
}

/// The ranks for the machine that the plan was compiled for.
static Result<std::unique_ptr<RankSet>>
createRanks(const RankRequest &request) {
  const std::string_view kind = view(request.plan.contents().target()->kind());
  if (kind == "none")
    return failedPrecondition(
        "the plan has no machine code: it was compiled for target \"none\", to "
        "be looked at; compile it for a processor to run it");
  if (kind == "cpu") {
    if (const Bootstrap *bootstrap = request.options.bootstrap.get();
        bootstrap && bootstrap->launch().world > 1)
      return failedPrecondition(
          fmt::format("the plan is for \"cpu\", where the ranks are threads of "
                      "one process, "
                      "but {} started {}; start one",
                      bootstrap->launch().launcher, bootstrap->launch().world));
    return createCpuRanks(request);
  }
  if (kind == "cuda")
    return createCudaRanks(request);
  return failedPrecondition(fmt::format(
      "the plan is for target \"{}\", this runtime executes \"cpu\" and "
      "\"cuda\"",
      escaped(kind)));
}

SessionCore::SessionCore(Plan plan, SessionOptions options)
    : thePlan(std::move(plan)), theMesh(thePlan.contents()), options(options),
      notes(this->options.note),
      request{thePlan, theMesh, this->options,
              [this](const Status &status) { fail(status); },
              [this](const std::string &text) { notes.add(text); }},
      spin(SpinPolicy::forRanks(static_cast<int>(theMesh.ranks()) + 1)),
      finished(new std::atomic<uint32_t>[theMesh.ranks()]()) {}

Rank *SessionCore::rank(int64_t number) const {
  for (const auto &rank : ranks())
    if (rank->number() == number)
      return rank.get();
  return nullptr;
}

Result<std::shared_ptr<SessionCore>>
SessionCore::create(Plan plan, SessionOptions options) {
  WEFT_RETURN_IF_ERROR(checkRequest(plan, options));
  std::shared_ptr<SessionCore> core(new SessionCore(std::move(plan), options));
  WEFT_ASSIGN_OR_RETURN(core->rankSet, createRanks(core->request));
  try {
    core->startThreads();
  } catch (const std::system_error &error) {
    core->shutDown();
    return resourceExhausted(fmt::format("cannot start {} rank threads: {}",
                                         core->ranks().size(), error.what()));
  }
  if (Status status = core->dispatch(initializeJob); !status.ok()) {
    core->shutDown();
    return status;
  }
  return core;
}

void SessionCore::startThreads() {
  for (size_t r = 0; r < ranks().size(); ++r)
    threads.emplace_back([core = shared_from_this(), r] { core->rankMain(r); });
}

void SessionCore::rankMain(size_t index) {
  Rank &rank = *ranks()[index];
  for (uint32_t seen = 0;;) {
    waitUntil(jobPosted, spin, Clock::time_point::max(),
              [&] { return generation.load() != seen; });
    seen = generation.load();
    const int64_t current = job.load();
    Status status;
    if (current == initializeJob)
      status = rank.initialize();
    else if (current == stopJob)
      rank.finish();
    else
      status = rank.run(static_cast<uint32_t>(current));
    if (!status.ok())
      fail(status);
    finished[index].store(seen);
    // The last word to the session: once `running` is 0 the next job may come.
    running.fetch_sub(1);
    rankFinished.notifyAll();
    if (current == stopJob)
      return;
  }
}

Status SessionCore::dispatch(int64_t newJob) {
  if (failed.load())
    return firstFailure();
  job.store(newJob);
  running.store(static_cast<int>(threads.size()));
  generation.fetch_add(1);
  jobPosted.notifyAll();
  const auto allDone = [&] { return running.load() == 0; };
  waitUntil(rankFinished, spin, Clock::time_point::max(),
            [&] { return allDone() || failed.load(); });
  if (!failed.load())
    return {};
  // The others learn of the failure at their next collective at the latest.
  waitUntil(rankFinished, spin, deadlineAfter(options.deadline), allDone);
  return firstFailure();
}

Status SessionCore::run(uint32_t entry) {
  const bool isRecorded = recordedRuns < options.traceRuns;
  recordedRuns += isRecorded;
  const size_t instructions =
      thePlan.contents().entries()->Get(entry)->instructions()->size();
  if (running.load() == 0)
    for (const auto &rank : ranks())
      for (TraceTrack RankTrace::*member : RankTrace::all) {
        TraceTrack &track = rank->trace().*member;
        track.recording = isRecorded;
        if (isRecorded)
          track.events.reserve(track.events.size() + instructions);
      }
  const Clock::time_point begin = Clock::now();
  Status status = dispatch(entry);
  times = {.total = Clock::now() - begin};
  if (!status.ok())
    return status; // a rank may still be at work
  for (const auto &rank : ranks())
    times.enqueue = std::max(times.enqueue, rank->enqueueTime());
  return status;
}

std::string SessionCore::describeStuckRanks() {
  std::string text;
  const int64_t current = job.load();
  // The failure of an only rank says itself where it is.
  if (current < 0 || ranks().size() == 1)
    return text;
  constexpr int limit = 8;
  int listed = 0;
  for (size_t r = 0; r < ranks().size(); ++r) {
    if (finished[r].load() == generation.load())
      continue;
    if (++listed > limit)
      return text + ", ...";
    text += fmt::format("{} rank {} is {}", text.empty() ? ";" : ",",
                        ranks()[r]->number(),
                        ranks()[r]->place(static_cast<uint32_t>(current)));
  }
  return text;
}

void SessionCore::fail(const Status &status) {
  {
    std::lock_guard<std::mutex> lock(failureMutex);
    if (!failure.ok())
      return;
    failure =
        status.code() == StatusCode::DeadlineExceeded
            ? Status(status.code(), status.message() + describeStuckRanks())
            : status;
    failed.store(true);
  }
  rankSet->abort(status);
  rankFinished.notifyAll();
}

Status SessionCore::firstFailure() {
  std::lock_guard<std::mutex> lock(failureMutex);
  return failure;
}

void SessionCore::shutDown() {
  waitUntil(rankFinished, spin, deadlineAfter(options.deadline),
            [&] { return running.load() == 0; });
  const uint32_t last = generation.load();
  std::vector<bool> isIdle;
  for (size_t r = 0; r < threads.size(); ++r)
    isIdle.push_back(finished[r].load() == last);
  job.store(stopJob);
  generation.fetch_add(1);
  jobPosted.notifyAll();
  for (size_t r = 0; r < threads.size(); ++r)
    isIdle[r] ? threads[r].join() : threads[r].detach();
  threads.clear();
  notes.close();
  for (const auto &rank : ranks())
    if (rank->mustStay())
      return leaveBehind();
}

/// Streams, memory and communicators of a device that hangs are left to the end
/// of the process: CUDA waits for the device before it frees them.
void SessionCore::leaveBehind() {
  static std::mutex mutex;
  static auto *const left = new std::vector<std::shared_ptr<SessionCore>>;
  const std::lock_guard lock(mutex);
  left->push_back(shared_from_this());
}

} // namespace weft::runtime
