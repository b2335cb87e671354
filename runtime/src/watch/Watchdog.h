//===- Watchdog.h - Watches over a rank and its peers -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device that waits for a rank that never comes waits for ever, and so may
// the host thread that waits for the device. The watchdog is a thread that
// waits for nothing: it looks at counters, tells the store where its rank is,
// and when nothing has moved for longer than any run takes, reads where the
// others are. Because all ranks run one program, comparing their progress tells
// who keeps whom waiting, and in which step of the plan:
//
//   rank 0: step 17 all_reduce: rank 2 did not arrive within 30 s (gradient of
//   w1); rank 2 is in run 41 after step 12 all_gather
//
// The failure goes to all ranks through the store, to `fail` of the watched
// rank, and with the last events of the rank to a file. A rank that has not let
// go of its device some time after a failure gets `abortProcess`.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_WATCH_WATCHDOG_H
#define WEFT_RUNTIME_SRC_WATCH_WATCHDOG_H

#include "comm/EventCount.h"
#include "watch/FlightRecorder.h"
#include "watch/Progress.h"
#include "weft/runtime/Bootstrap.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weft::runtime {

/// A collective or a message of a run, as Begun counts them, from 0.
struct Communication {
  size_t queue = 0;
  uint32_t number = 0;
};

/// What the watchdog asks of its rank, from its own thread.
class WatchedRank {
public:
  virtual ~WatchedRank() = default;
  /// A failure that nobody was told of yet.
  virtual Status asyncError() = 0;
  /// The last communications that its device has begun in this run.
  virtual Begun begunCommunications() const = 0;
  /// "step 17 all_reduce" or "role 0 action 5 (micro-batch 2), receive of
  /// message 1 "gradient"", and "gradient of w1, mlp.py:7" or nothing, of what
  /// `rank` executes.
  virtual std::string nameOf(uint32_t entry, Communication which,
                             int rank) const = 0;
  virtual std::string causeOf(uint32_t entry, Communication which,
                              int rank) const = 0;
  /// The ranks that `rank` meets in it, itself among them.
  virtual std::vector<int> partners(uint32_t entry, Communication which,
                                    int rank) const = 0;
  /// Where it is in what `rank` executes: the greater the later.
  virtual uint32_t positionOf(uint32_t entry, Communication which,
                              int rank) const = 0;
  /// Whether `rank` begins `later` only when `earlier`, which it has begun, has
  /// ended.
  virtual bool isHeldUp(uint32_t entry, Communication later,
                        Communication earlier, int rank) const = 0;
  /// What the library that carries the data says, for the report of a failure
  /// that it may be waiting in; takes seconds at most.
  virtual std::string libraryReport() const = 0;
  /// Called once, with the failure.
  virtual void fail(const Status &failure) = 0;
  /// Called when the rank does not let go.
  virtual void abortProcess(const std::string &message) = 0;
};

struct WatchdogOptions {
  /// Longest time without a move in a run; 10 times the median run if that is
  /// more. The first run of an entry may take 4 times as long.
  std::chrono::nanoseconds deadline = std::chrono::seconds(30);
  /// The same while the rank attaches or detaches.
  std::chrono::nanoseconds setup = std::chrono::seconds(300);
  /// From a failure to `abortProcess`.
  std::chrono::nanoseconds patience = std::chrono::seconds(10);
  /// Where the file goes; empty = the system's folder for temporary files.
  std::string reportFolder;
};

class Watchdog {
public:
  /// All outlive it.
  Watchdog(Bootstrap &bootstrap, WatchedRank &rank, WatchdogOptions options);
  ~Watchdog();

  /// By the thread of the rank, in this order; `begin` and `end` repeated.
  void attach();
  void attached() { move(RankState::Idle); }
  void begin(uint32_t entry);
  void end();
  void detach();
  void detached() { move(RankState::Gone); }

  /// By the thread of the rank: it puts a collective on its stream.
  void enqueued(uint32_t instruction) {
    recorder.record(FlightEvent::Enqueued, run.load(), entry.load(),
                    instruction);
  }

  /// A failure that the rank itself has found. Safe from any thread.
  void report(const Status &failure);

private:
  void loop();
  void look();
  Progress here() const;
  void publish(const Progress &progress, Clock::time_point now);
  std::chrono::nanoseconds allowed() const;
  /// What a rank has begun and others of its partners have not.
  struct Waiting {
    int rank = 0;
    Communication which;
    std::vector<int> missing;
  };
  std::vector<Waiting> findWaiting(const std::vector<Progress> &all) const;
  const Waiting *findCause(const std::vector<Waiting> &waiting,
                           const std::vector<Progress> &all) const;
  Status diagnose(const Progress &mine);
  std::vector<Progress> progressOfAll() const;
  std::string describe(int rank, const Progress &progress) const;
  void stopJob(const Status &failure);
  void writeReport(const std::string &failure,
                   const std::string &ofLibrary) const;
  void move(RankState next) { state.store(next); }

  Bootstrap &bootstrap;
  WatchedRank &rank;
  const WatchdogOptions options;
  FlightRecorder recorder;

  // Written by the thread of the rank.
  std::atomic<RankState> state{RankState::Idle};
  std::atomic<uint32_t> run{0};
  std::atomic<uint32_t> entry{0};
  std::atomic<int64_t> medianRun{0};
  std::atomic<bool> isFirstRun{true};
  std::vector<bool> hasRun;
  Clock::time_point runBegan;
  std::vector<int64_t> durations;

  // Of the watchdog's thread.
  Progress seen;
  /// How long the rank has not moved, while this process ran.
  std::chrono::nanoseconds still{0};
  Clock::time_point lastLook;
  Clock::time_point lastPublished;
  Clock::time_point lastAsked;
  Progress published;
  Clock::time_point failedAt;
  bool isPastPatience = false;

  std::mutex reported;
  Status pendingReport;
  std::atomic<bool> hasFailed{false};

  std::mutex mutex;
  std::condition_variable wake;
  bool isStopping = false;
  std::thread thread;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_WATCH_WATCHDOG_H
