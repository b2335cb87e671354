//===- SessionCore.cpp - The ranks of a session and their threads -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "session/SessionCore.h"

#include "cuda/rank/CudaRanks.h"
#include "executor/CpuRank.h"
#include "plan/Text.h"
#include "watch/FailureReport.h"

#include <algorithm>
#include <ctime>
#include <new>

namespace weft::runtime {

/// Threads of one process beyond this number are a mistake.
static constexpr int64_t maxRanks = 1024;

static Status checkRequest(const Plan &plan, const SessionOptions &options) {
  const Bootstrap *bootstrap = options.bootstrap.get();
  const int64_t ranks =
      plan.ranks() / (bootstrap ? bootstrap->launch().world : 1);
  if (ranks > maxRanks)
    return failedPrecondition(
        fmt::format("the plan is for {} ranks, one process runs at most {}",
                    ranks, maxRanks));
  if (options.threads < 1)
    return invalidArgument(fmt::format(
        "{} threads for each rank, need at least 1", options.threads));
  if (options.deadline <= std::chrono::nanoseconds(0))
    return invalidArgument(fmt::format("a deadline of {} ns, must be positive",
                                       options.deadline.count()));
  if (options.traceRuns < 0)
    return invalidArgument(
        fmt::format("{} runs to trace, need at least 0", options.traceRuns));
  return {};
}

Status checkLaunch(const Plan &plan, const Launch &launch) {
  if (launch.world <= 1 || view(plan.contents().target()->kind()) != "cpu")
    return {};
  if (launch.mpi.empty())
    return failedPrecondition(fmt::format(
        "the plan is for \"cpu\", whose processes communicate over MPI, but {} "
        "started {} without it; start them with mpirun, srun --mpi=pmix (Open "
        "MPI) or srun --mpi=pmi2 (MPICH)",
        launch.launcher, launch.world));
  if (plan.ranks() % launch.world == 0)
    return {};
  return failedPrecondition(fmt::format(
      "the plan has {} ranks, which {} processes ({}) cannot share equally; "
      "start a number that divides {}",
      plan.ranks(), launch.world, launch.launcher, plan.ranks()));
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
    if (const Bootstrap *bootstrap = request.options.bootstrap.get())
      WEFT_RETURN_IF_ERROR(checkLaunch(request.plan, bootstrap->launch()));
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
    : thePlan(std::move(plan)), theMesh(thePlan.contents()),
      theRoles(thePlan.contents(), theMesh), options(options),
      notes(this->options.note),
      request{thePlan,
              theMesh,
              this->options,
              [this](const Status &status) { fail(status); },
              [this](const std::string &text) { notes.add(text); },
              failed,
              this->options.isInterrupted ? [this] { askForInterrupt(); }
                                          : std::function<void()>()},
      spin(SpinPolicy::forRanks(static_cast<int>(theMesh.ranks()) + 1)),
      depth(forkDepth()),
      finished(new std::atomic<uint32_t>[2 * theMesh.ranks()]()) {}

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
  WEFT_ASSIGN_OR_RETURN(core->theRanks, createRanks(core->request));
  Status status = core->prepareThreads();
  if (!status.ok()) {
    core->shutDown();
    return status;
  }
  return core;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

bool SessionCore::isInline(int64_t newJob) const {
  return ranks().size() == 1 && options.threads == 1 &&
         theRanks->runsInAnyThread() &&
         (newJob < 0 || !haveCarriers(static_cast<uint32_t>(newJob)));
}

/// Whether any rank does: roles differ.
bool SessionCore::haveCarriers(uint32_t entry) const {
  return std::ranges::any_of(
      ranks(), [&](const auto &rank) { return rank->hasCarrier(entry); });
}

size_t SessionCore::threadsOf(uint32_t entry) const {
  if (isInline(entry))
    return 0;
  return ranks().size() * (haveCarriers(entry) ? 2 : 1);
}

size_t SessionCore::mostThreads() const {
  size_t most = 0;
  for (const EntrySpec &entry : thePlan.entries())
    most = std::max(most, threadsOf(entry.number));
  return most;
}

/// Initializes the ranks, and sees to it that there are threads for all runs.
Status SessionCore::prepareThreads() {
  WorkerPool &pool = WorkerPool::ofProcess();
  demand = isInline(initializeJob) ? 0 : ranks().size();
  pool.join(demand);
  WEFT_RETURN_IF_ERROR(dispatch(initializeJob, demand));
  if (const size_t most = mostThreads(); most > demand) {
    pool.join(most - demand);
    demand = most;
    WEFT_RETURN_IF_ERROR(pool.borrow(demand, workers));
    pool.giveBack(workers);
  }
  return {};
}

Status SessionCore::checkProcess() const {
  if (depth == forkDepth() ||
      (theRanks->runsInAnyThread() && running.load() == 0))
    return {};
  return failedPrecondition(
      "the session is of the process that this one was forked from, and "
      "cannot run here: it was in a run, or is on a device; create a session "
      "in this process, or start it with \"spawn\"");
}

std::chrono::nanoseconds SessionCore::patience() const {
  return std::min<std::chrono::nanoseconds>(options.deadline,
                                            std::chrono::seconds(30));
}

Status SessionCore::workOfRank(Rank &rank, int64_t current) {
  try {
    if (current == initializeJob)
      return rank.initialize();
    if (current == gatherJob)
      return gatherInThread();
    if (current != stopJob)
      return rank.run(static_cast<uint32_t>(current));
    rank.finish();
    return {};
  } catch (const std::bad_alloc &) {
    return resourceExhausted(
        fmt::format("rank {} is out of memory", rank.number()));
  }
}

void SessionCore::work(size_t index) {
  const uint32_t current = generation.load();
  Status status;
  if (index < ranks().size())
    status = workOfRank(*ranks()[index], job.load());
  else if (Rank &rank = *ranks()[index - ranks().size()];
           rank.hasCarrier(static_cast<uint32_t>(job.load())))
    rank.carry();
  if (!status.ok())
    fail(status);
  finished[index].store(current);
  // The last word to the session: once `running` is 0 the next job may come.
  if (running.fetch_sub(1) <= 1)
    rankFinished.notifyAll();
}

void SessionCore::post(int64_t newJob) {
  job.store(newJob);
  running.store(static_cast<int>(workers.size()));
  generation.fetch_add(1);
  for (size_t i = 0; i < workers.size(); ++i)
    workers[i]->post(workOf(i));
}

Worker::Work SessionCore::workOf(size_t index) {
  const auto call = [](void *core, size_t index) {
    static_cast<SessionCore *>(core)->work(index);
  };
  return {
      .owner = shared_from_this(), .run = call, .index = index, .spin = spin};
}

static Status interruption() {
  return unavailable("the session was interrupted in a run, and its states "
                     "may be half updated; create a new session");
}

/// A time for intervals much longer than its steps of some milliseconds, in a
/// third of the time that the exact one takes: it is asked for before every
/// instruction.
static std::chrono::nanoseconds coarseTime() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::nanoseconds(time.tv_nsec);
}

static constexpr std::chrono::milliseconds interruptInterval(50);

void SessionCore::askForInterrupt() {
  if (!isRunInline)
    return; // whoever waits for the run asks
  const std::chrono::nanoseconds now = coarseTime();
  if (now - lastAsked < interruptInterval)
    return;
  lastAsked = now;
  if (options.isInterrupted())
    fail(interruption());
}

/// While `running` is set, a forked child cannot go on with the session.
Status SessionCore::runInline(int64_t newJob) {
  job.store(newJob);
  running.store(1);
  isRunInline = true;
  lastAsked = coarseTime();
  Status status = workOfRank(*ranks()[0], newJob);
  if (!status.ok())
    fail(status);
  isRunInline = false;
  running.store(0);
  return failed.load() ? firstFailure() : Status();
}

/// Until all are done, or one has failed.
void SessionCore::waitForRanks() {
  const auto settled = [&] { return running.load() == 0 || failed.load(); };
  if (!options.isInterrupted) {
    waitUntil(rankFinished, spin, noTimeout, settled);
    return;
  }
  while (!waitUntil(rankFinished, spin, interruptInterval, settled))
    if (options.isInterrupted())
      fail(interruption());
}

Status SessionCore::dispatch(int64_t newJob, size_t count) {
  WEFT_RETURN_IF_ERROR(checkProcess());
  if (failed.load())
    return firstFailure();
  if (isInline(newJob))
    return runInline(newJob);
  if (workers.empty())
    WEFT_RETURN_IF_ERROR(WorkerPool::ofProcess().borrow(count, workers));
  post(newJob);
  waitForRanks();
  // The others learn of the failure at their next instruction.
  if (failed.load())
    waitUntil(rankFinished, spin, patience(),
              [&] { return running.load() == 0; });
  if (running.load() == 0 && theRanks->runsInAnyThread())
    WorkerPool::ofProcess().giveBack(workers);
  return failed.load() ? firstFailure() : Status();
}

Status SessionCore::gatherInThread() {
  WEFT_ASSIGN_OR_RETURN(gathering.all,
                        theRanks->gather(gathering.mine, gathering.timeout));
  return {};
}

Result<std::vector<std::byte>>
SessionCore::gather(std::span<const std::byte> mine,
                    std::chrono::nanoseconds timeout) {
  if (!theRanks->gathersInThreadOfRank(mine.size()))
    return theRanks->gather(mine, timeout);
  gathering = {mine, timeout, {}};
  WEFT_RETURN_IF_ERROR(dispatch(gatherJob, demand));
  return std::move(gathering.all);
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
        if (isRecorded) {
          track.runs.push_back(track.events.size());
          track.events.reserve(track.events.size() + instructions);
        }
      }
  const Clock::time_point begin = Clock::now();
  Status status = dispatch(entry, threadsOf(entry));
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
  if (current < 0 || thePlan.ranks() == 1)
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
                        ranks()[r]->progress(static_cast<uint32_t>(current)));
  }
  return text;
}

void SessionCore::fail(const Status &status) {
  {
    std::lock_guard<std::mutex> lock(failureMutex);
    if (!failure.ok())
      return;
    failure =
        status.code() == StatusCode::DeadlineExceeded ||
                (bootstrap() && status.code() == StatusCode::Unavailable)
            ? Status(status.code(), status.message() + describeStuckRanks())
            : status;
    failed.store(true);
  }
  theRanks->abort(status);
  rankFinished.notifyAll();
  writeReports(status);
}

/// What each rank here did last.
void SessionCore::writeReports(const Status &status) const {
  for (const auto &rank : ranks())
    if (const std::string events = rank->lastEvents(); !events.empty())
      writeFailureReport(
          "", rank->number(),
          fmt::format("weft: rank {} of {}, process {} of {}{}\n{}\n\nlast "
                      "events of this rank:\n{}",
                      rank->number(), thePlan.ranks(),
                      bootstrap()->launch().rank, bootstrap()->launch().world,
                      bootstrap()->onHost(bootstrap()->launch().rank),
                      status.message(), events));
}

Status SessionCore::firstFailure() {
  std::lock_guard<std::mutex> lock(failureMutex);
  return failure;
}

/// Ranks that had their threads for good are finished in them, one that is
/// stuck when it comes back.
void SessionCore::returnThreads() {
  waitUntil(rankFinished, spin, patience(),
            [&] { return running.load() == 0; });
  const bool mustFinish = !theRanks->runsInAnyThread();
  WorkerPool &pool = WorkerPool::ofProcess();
  const uint32_t last = generation.load();
  std::vector<bool> isIdle;
  for (size_t i = 0; i < workers.size(); ++i)
    isIdle.push_back(finished[i].load() == last);
  job.store(stopJob);
  generation.fetch_add(1);
  std::vector<Worker *> idle;
  for (size_t i = 0; i < workers.size(); ++i) {
    const Worker::Work stop = mustFinish ? workOf(i) : Worker::Work();
    if (!isIdle[i])
      pool.abandon(workers[i], stop);
    else
      idle.push_back(workers[i]);
    if (isIdle[i] && mustFinish)
      workers[i]->post(stop);
  }
  for (size_t i = 0; i < workers.size(); ++i)
    if (isIdle[i] && mustFinish)
      waitUntil(rankFinished, spin, noTimeout,
                [&] { return finished[i].load() != last; });
  workers.clear();
  pool.giveBack(idle);
  pool.leave(demand);
}

void SessionCore::shutDown() {
  if (depth == forkDepth())
    returnThreads();
  notes.close();
  for (const auto &rank : ranks())
    if (rank->isStuck() ||
        (depth != forkDepth() && !theRanks->runsInAnyThread()))
      return detachHungRanks();
}

/// Streams, memory and communicators of a device that hangs are left to the end
/// of the process: CUDA waits for the device before it frees them.
void SessionCore::detachHungRanks() {
  static std::mutex mutex;
  static auto *const left = new std::vector<std::shared_ptr<SessionCore>>;
  const std::lock_guard lock(mutex);
  left->push_back(shared_from_this());
}

} // namespace weft::runtime
