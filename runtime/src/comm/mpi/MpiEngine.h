//===- MpiEngine.h - The thread of a process that calls MPI -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MPI moves nothing while nobody calls it. One thread of the process does, for
// all ranks and all worlds: it starts what tasks want to move, and asks again
// and again whether it has arrived, so that nothing ever waits inside MPI for a
// peer that does not come.
//
// A rank that waits makes these calls itself for a moment, one thread at a
// time: to wake another one and be woken takes longer than a small message.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_MPI_MPIENGINE_H
#define WEFT_RUNTIME_COMM_MPI_MPIENGINE_H

#include "MpiLibrary.h"
#include "comm/EventCount.h"
#include "weft/runtime/Bootstrap.h"
#include "weft/runtime/Status.h"

#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace weft::runtime {

/// Something that the thread of the engine has to do in several steps.
/// What a process that has come to the end of its program has sent before
/// arrives within this time.
inline constexpr std::chrono::nanoseconds latestArrival =
    std::chrono::seconds(2);

class MpiTask {
public:
  virtual ~MpiTask() = default;
  /// Does what can be done now; whether anything moved. Calls `finish` when
  /// nothing is left to do.
  virtual bool progress(MpiLibrary &library) = 0;
  /// Ends it in place of `progress`, without a call of MPI.
  virtual void abandon(const Status &reason) = 0;
  /// Whether `progress` may wait inside MPI.
  virtual bool mayWait() const { return false; }
  /// Whether the other ends are there and data is on its way: MPI moves a
  /// little of it in each call.
  virtual bool isMoving() const { return false; }

  bool isFinished() const { return isDone.load(); }

protected:
  void begin() {
    isOver = false;
    isDone.store(false);
  }
  void finish() { isOver = true; }

private:
  friend class MpiEngine;

  /// The engine says `isDone` as its last word to the task, which its owner may
  /// then take away.
  bool isOver = true;
  std::atomic<bool> isDone{true};
};

class MpiEngine {
public:
  /// That of this process. The first call loads the library of the launcher and
  /// initializes it; the process finalizes it at its end.
  static Result<MpiEngine *> ofProcess(Bootstrap &bootstrap);

  /// This process among those of the job, and how many these are.
  int process() const { return theProcess; }
  int processes() const { return theProcesses; }
  const std::string &version() const { return theVersion; }
  int mostTag() const { return theMostTag; }

  /// Lets the thread do a task until it is finished. Safe from any thread.
  void start(MpiTask &task);
  /// The same, and returns when it is finished.
  void run(MpiTask &task, const SpinPolicy &spin);
  /// Whether some rank of this process waits for another process.
  bool isBusy() const {
    return unfinished.load() != 0 || othersAwaited.load() != 0;
  }

  /// Of a rank that waits for other processes without the engine, whose thread
  /// calls MPI now and then meanwhile: what has ended here may want more calls
  /// before it has ended there.
  class Awaiting {
  public:
    explicit Awaiting(MpiEngine &engine) : engine(engine) {
      engine.othersAwaited.fetch_add(1);
      engine.work.notifyAll();
    }
    ~Awaiting() { engine.othersAwaited.fetch_sub(1); }
    Awaiting(const Awaiting &) = delete;
    Awaiting &operator=(const Awaiting &) = delete;

  private:
    MpiEngine &engine;
  };
  /// Returns when the task is finished.
  void waitFor(const MpiTask &task, const SpinPolicy &spin) {
    drive(task, spin);
    waitUntil(finished, spin, noTimeout, [&] { return task.isFinished(); });
  }
  /// The same, at most until `budget` is spent; whether it is finished.
  bool waitFor(const MpiTask &task, const SpinPolicy &spin,
               WaitBudget &budget) {
    drive(task, spin);
    return waitUntil(finished, spin, budget, [&] { return task.isFinished(); });
  }

  /// Makes a call that may wait inside MPI. When `mayWait` says no, the thread
  /// is given up, and all that is asked of the engine fails.
  Status call(std::function<std::string(MpiLibrary &)> function,
              const std::function<Status()> &mayWait);

  /// A peer may still read or write memory that it must not: nothing is moved
  /// any more, and the process does not wait for others at its end.
  void giveUp(const Status &reason);
  /// Processes have come to the end of their programs, and to no call any more.
  void noteEnded(const std::set<int> &ended);
  /// Whether a process has.
  bool hasEnded(int process) const {
    return someHaveEnded.load() && haveEnded[process].load();
  }

  /// A process may not come to its end: this one does not wait for it at its
  /// own for long.
  void expectNoEnd() { jobHasFailed.store(true); }
  /// Success, or why the engine was given up.
  Status status();

private:
  MpiEngine() = default;
  void submit(MpiTask &task);
  void drive(const MpiTask &task, const SpinPolicy &spin);
  void begin(int neighbours);
  void loop();
  struct Progress {
    /// Something has ended, or something is on its way.
    bool hasMoved = false, isMoving = false;
  };
  Progress step(bool mayWait);
  void finalize();

  MpiLibrary *library = nullptr;
  int theProcess = 0, theProcesses = 1, theMostTag = 0;
  std::string theVersion;
  /// Of the library's begin: whether it is over, and why it has failed.
  std::atomic<bool> isReady{false};
  std::string problem;
  SpinPolicy spin;
  bool isForAllThreads = false;

  /// Held by who calls MPI, and guards `active`.
  std::mutex calling;
  std::vector<MpiTask *> active;
  std::mutex mutex;
  std::vector<MpiTask *> submitted;
  /// Of tasks those that are submitted, and all; ranks that call MPI, and that
  /// wait without it.
  std::atomic<uint32_t> waiting{0}, unfinished{0}, drivers{0}, othersAwaited{0};
  std::atomic<bool> isStopping{false};
  std::atomic<bool> isEnded{false};
  std::atomic<bool> isGivenUp{false};
  std::atomic<bool> jobHasFailed{false};
  std::atomic<bool> someHaveEnded{false};
  std::vector<std::atomic<bool>> haveEnded;
  Status whyGivenUp;
  EventCount work;
  EventCount finished;
  std::thread thread;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_MPI_MPIENGINE_H
