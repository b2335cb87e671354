//===- Rank.h - One rank of a session ---------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a session needs of a rank, whether its memory is the host's (CpuRank.h)
// or a device's (cuda/rank/CudaRank.h), and of the ranks of this process
// together.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_RANK_H
#define WEFT_RUNTIME_SRC_EXECUTOR_RANK_H

#include "executor/Trace.h"
#include "plan/Mesh.h"
#include "weft/runtime/Plan.h"
#include "weft/runtime/SessionOptions.h"
#include "weft/runtime/Status.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft::runtime {

/// The memory and programs of one rank. `initialize` and `run` are called in
/// the thread of the rank, which may be that of the session's caller; what
/// reads and writes memory by the session while the rank is idle.
class Rank {
public:
  explicit Rank(int number) : worldRank(number) {}
  virtual ~Rank() = default;
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;

  /// Its number in the mesh.
  int number() const { return worldRank; }

  /// Allocates, fills the constants, binds all entries.
  virtual Status initialize() = 0;

  /// Executes an entry once.
  virtual Status run(uint32_t entry) = 0;

  /// Whether `run` needs a second thread, in which `carry` is called meanwhile.
  virtual bool hasCarrier(uint32_t) const { return false; }
  virtual void carry() {}

  /// Called last in the thread of the rank, also after a failure.
  virtual void finish() {}

  /// Host memory from which every run takes an input of an entry; `input`
  /// counts those that are no states. Null where the role of the rank does not
  /// have it.
  virtual std::byte *input(uint32_t entry, size_t input) = 0;

  /// Lets `fill` write `bytes` of the arena, all of them.
  using Fill = std::function<void(std::byte *)>;
  virtual Status write(uint64_t offset, size_t bytes, const Fill &fill) = 0;

  /// `bytes` of the arena as the host sees them: in place, or in `copy`.
  virtual Result<const std::byte *>
  read(uint64_t offset, size_t bytes, std::vector<std::byte> &copy) const = 0;

  virtual uint64_t arenaBytes() const = 0;

  /// How long the last run took to give the device its work.
  std::chrono::nanoseconds enqueueTime() const { return enqueued; }

  /// How long the last run took in the thread of the rank, and how much of that
  /// it waited for communication; both 0 on a device, whose waits the host does
  /// not see.
  std::chrono::nanoseconds runTime() const { return spent; }
  std::chrono::nanoseconds waitTime() const { return waited; }

  RankTrace &trace() { return tracks; }
  const RankTrace &trace() const { return tracks; }

  /// Where the rank is in an entry that it runs, for reports about ranks that
  /// do not arrive: "in step 12 launch". Safe from any thread.
  virtual std::string progress(uint32_t entry) const = 0;

  /// The last events of the rank, one a line, the oldest first; nothing where
  /// something else reports them or the ranks of one process have no need.
  virtual std::string lastEvents() const { return ""; }

  /// After `finish`: whether to give back what it has would be to wait for a
  /// device that never comes back. It is then never destroyed.
  virtual bool isStuck() const { return false; }

protected:
  RankTrace tracks;
  std::chrono::nanoseconds enqueued{0}, spent{0}, waited{0};
  /// How many steps of its entry the rank's thread has behind it.
  std::atomic<uint32_t> position{0};

private:
  const int worldRank;
};

/// The ranks that are threads of this process, and what they share.
class RankSet {
public:
  virtual ~RankSet() = default;

  /// In the order of their numbers.
  const std::vector<std::unique_ptr<Rank>> &ranks() const { return members; }

  /// Ends all communication: every waiting and every later call of a rank
  /// returns `reason`. Safe from any thread.
  virtual void abort(const Status &reason) = 0;

  /// What the ranks of each process have, `mine` of those of this one, of the
  /// same size in all; in the order of the ranks. All processes call it in the
  /// same order, between two runs, and come within `timeout` of each other.
  /// SessionCore::gather calls it in the thread that it must be called in.
  virtual Result<std::vector<std::byte>> gather(std::span<const std::byte> mine,
                                                std::chrono::nanoseconds) {
    return std::vector<std::byte>(mine.begin(), mine.end());
  }

  /// Whether to gather so many bytes is work of the thread of the only rank.
  virtual bool gathersInThreadOfRank(size_t) const { return false; }

  /// Whether every run may be in other threads than the one before.
  virtual bool runsInAnyThread() const { return false; }

protected:
  std::vector<std::unique_ptr<Rank>> members;
};

inline constexpr std::atomic<bool> neverFails{false};

/// What ranks are made for. Outlives them.
struct RankRequest {
  const Plan &plan;
  const Mesh &mesh;
  const SessionOptions &options;
  /// Called by any thread of a rank with a failure that must stop all ranks.
  std::function<void(const Status &)> onFailure;
  /// Called by any thread with what SessionOptions::note is told.
  std::function<void(const std::string &)> note = [](const std::string &) {};
  /// Set when all ranks must stop, before their communication is ended.
  const std::atomic<bool> &hasFailed = neverFails;
  /// Called before each instruction by a rank in the thread of the session's
  /// caller, who cannot look for interrupts meanwhile.
  std::function<void()> beforeStep = nullptr;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_RANK_H
