//===- SessionCore.h - The ranks of a session and their threads -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps one thread a rank alive between steps and hands them work. Each thread
// holds a reference to the core, so that a rank that never comes back from a
// kernel can be left behind without pulling memory from under it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_SESSIONCORE_H
#define WEFT_RUNTIME_SRC_EXECUTOR_SESSIONCORE_H

#include "comm/EventCount.h"
#include "executor/Notes.h"
#include "executor/Rank.h"
#include "weft/runtime/Session.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weft::runtime {

class SessionCore : public std::enable_shared_from_this<SessionCore> {
public:
  /// Creates communicators, loads the kernels, starts the threads and waits
  /// until all ranks are initialized.
  static Result<std::shared_ptr<SessionCore>> create(Plan plan,
                                                     SessionOptions options);

  /// Runs an entry once on all ranks.
  Status run(uint32_t entry);
  const RunTimes &lastRunTimes() const { return times; }

  /// Stops the threads. A rank that does not stop within the deadline keeps
  /// its thread and the core.
  void shutDown();

  const Plan &plan() const { return thePlan; }
  const Mesh &mesh() const { return theMesh; }
  /// The ranks of this process.
  const std::vector<std::unique_ptr<Rank>> &ranks() const {
    return rankSet->ranks();
  }
  /// What the processes of the ranks meet over; null when this one has all.
  Bootstrap *bootstrap() const {
    Bootstrap *given = options.bootstrap.get();
    return given && given->launch().world > 1 ? given : nullptr;
  }
  /// The rank of that number, or null when it is not of this process.
  Rank *rank(int64_t number) const;

private:
  SessionCore(Plan plan, SessionOptions options);

  /// Work for all ranks: the index of an entry, or one of these.
  static constexpr int64_t initializeJob = -1;
  static constexpr int64_t stopJob = -2;

  void startThreads();
  void rankMain(size_t index);
  Status dispatch(int64_t job);
  /// Remembers the first failure and ends all communication.
  void fail(const Status &status);
  Status firstFailure();
  std::string describeStuckRanks();
  void leaveBehind();

  const Plan thePlan;
  const Mesh theMesh;
  const SessionOptions options;
  Notes notes;
  const RankRequest request;
  std::unique_ptr<RankSet> rankSet;
  const SpinPolicy spin;
  std::vector<std::thread> threads;

  // Work: written before `generation` is raised.
  std::atomic<int64_t> job{initializeJob};
  std::atomic<uint32_t> generation{0};
  EventCount jobPosted;

  /// For each rank of this process the generation it has finished.
  std::unique_ptr<std::atomic<uint32_t>[]> finished;
  std::atomic<int> running{0};
  EventCount rankFinished;

  std::mutex failureMutex;
  Status failure;
  std::atomic<bool> failed{false};
  /// Runs that the trace holds.
  int recordedRuns = 0;
  RunTimes times;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_SESSIONCORE_H
