//===- SessionCore.h - The ranks of a session and their threads -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lends the ranks threads for every run, or for good where a device wants the
// same ones. Each thread holds a reference to the core while it works, so that
// a rank that never comes back from a kernel can be left behind without pulling
// memory from under it.
//
// An only rank of one thread, which waits for nobody, runs in the thread of the
// caller: to wake another one and be woken takes 20 to 100 us. One that
// computes with several keeps a thread of its own, because a forked child of
// the caller could not use the threads that OpenMP has given it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_SESSION_SESSIONCORE_H
#define WEFT_RUNTIME_SRC_SESSION_SESSIONCORE_H

#include "comm/EventCount.h"
#include "executor/Rank.h"
#include "plan/Roles.h"
#include "session/Notes.h"
#include "session/WorkerPool.h"
#include "weft/runtime/Session.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weft::runtime {

class SessionCore : public std::enable_shared_from_this<SessionCore> {
public:
  /// Creates communicators, loads the kernels and waits until all ranks are
  /// initialized.
  static Result<std::shared_ptr<SessionCore>> create(Plan plan,
                                                     SessionOptions options);

  /// Runs an entry once on all ranks.
  Status run(uint32_t entry);
  const RunTimes &lastRunTimes() const { return times; }

  /// Gives the threads back. A rank that does not stop within `patience` keeps
  /// its thread and the core.
  void shutDown();

  const Plan &plan() const { return thePlan; }
  const Mesh &mesh() const { return theMesh; }
  const Roles &roles() const { return theRoles; }
  /// The ranks of this process.
  const std::vector<std::unique_ptr<Rank>> &ranks() const {
    return theRanks->ranks();
  }
  const RankSet &rankSet() const { return *theRanks; }
  /// What the ranks of each process have (RankSet::gather).
  Result<std::vector<std::byte>> gather(std::span<const std::byte> mine,
                                        std::chrono::nanoseconds timeout);
  /// What the processes of the ranks meet over; null when this one has all.
  Bootstrap *bootstrap() const {
    Bootstrap *given = options.bootstrap.get();
    return given && given->launch().world > 1 ? given : nullptr;
  }
  /// How long a rank waits for the others.
  std::chrono::nanoseconds deadline() const { return options.deadline; }
  /// The rank of that number, or null when it is not of this process.
  Rank *rank(int64_t number) const;

private:
  SessionCore(Plan plan, SessionOptions options);

  /// Work for all ranks: the index of an entry, or one of these.
  static constexpr int64_t initializeJob = -1;
  static constexpr int64_t stopJob = -2;
  static constexpr int64_t gatherJob = -3;

  /// Threads that a run of the entry takes: the ranks' and their carriers'.
  size_t threadsOf(uint32_t entry) const;
  bool haveCarriers(uint32_t entry) const;
  size_t mostThreads() const;
  Status prepareThreads();
  void work(size_t index);
  Status workOfRank(Rank &rank, int64_t job);
  Status gatherInThread();
  /// Whether a run of the entry, or the initialization, is the caller's.
  bool isInline(int64_t job) const;
  Status runInline(int64_t job);
  Status dispatch(int64_t job, size_t count);
  void post(int64_t job);
  Worker::Work workOf(size_t index);
  void waitForRanks();
  /// At most 20 times a second, in a run in the caller's thread.
  void askForInterrupt();
  void returnThreads();
  Status checkProcess() const;
  /// How long ranks may take to stop after a failure.
  std::chrono::nanoseconds patience() const;
  /// Remembers the first failure and ends all communication.
  void fail(const Status &status);
  Status firstFailure();
  std::string describeStuckRanks();
  void writeReports(const Status &status) const;
  void detachHungRanks();

  const Plan thePlan;
  const Mesh theMesh;
  const Roles theRoles;
  const SessionOptions options;
  Notes notes;
  const RankRequest request;
  std::unique_ptr<RankSet> theRanks;
  const SpinPolicy spin;
  /// Of the process that the session is of.
  const uint32_t depth;
  /// Threads that this session wants at once; 0 before it has any.
  size_t demand = 0;
  /// While a run needs them: first the ranks', then the carriers'.
  std::vector<Worker *> workers;

  // Work: written before it is posted.
  std::atomic<int64_t> job{initializeJob};
  struct {
    std::span<const std::byte> mine;
    std::chrono::nanoseconds timeout;
    std::vector<std::byte> all;
  } gathering;
  std::atomic<uint32_t> generation{0};

  /// For each thread the generation it has finished.
  std::unique_ptr<std::atomic<uint32_t>[]> finished;
  std::atomic<int> running{0};
  EventCount rankFinished;

  std::mutex failureMutex;
  Status failure;
  std::atomic<bool> failed{false};
  /// Of a run in the caller's thread: that it is one, and when it last asked
  /// for interrupts.
  bool isRunInline = false;
  std::chrono::nanoseconds lastAsked{0};
  /// Runs that the trace holds.
  int recordedRuns = 0;
  RunTimes times;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_SESSION_SESSIONCORE_H
