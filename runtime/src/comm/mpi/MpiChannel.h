//===- MpiChannel.h - A queue between two processes -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One end. When a transfer starts, the engine tells the other end what it is,
// and moves the data once the other end has told the same; nobody need wait for
// it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_MPI_MPICHANNEL_H
#define WEFT_RUNTIME_COMM_MPI_MPICHANNEL_H

#include "MpiEngine.h"
#include "MpiFailureLine.h"
#include "MpiTransfers.h"
#include "weft/runtime/Communicator.h"

#include <deque>
#include <mutex>

namespace weft::runtime {

class MpiChannel final : public Channel {
public:
  /// Tags of a queue, counted from its first one.
  static constexpr int tags = 4;

  struct Edge {
    int sender, receiver;
    /// The process of the other end, and the first tag.
    int peer, tag;
    size_t capacity;
  };

  MpiChannel(MpiEngine &engine, MpiGroupHandle handle, const Edge &edge,
             bool sends, const SpinPolicy &spin);

  uint64_t start(const Transfer &transfer) override;
  Status wait(uint64_t ticket) override;

  /// Ends the queue with `reason`, unless it failed before. Returns the failure
  /// that counts.
  Status stop(const Status &reason);
  /// Before the engine closes it: ends what was started and nobody waited for.
  void finishTasks();
  /// By the thread of the engine, last.
  void close(MpiLibrary &library);
  bool isClean() const { return !hasFailed.load(); }

private:
  class Slot final : public MpiTask {
  public:
    explicit Slot(MpiChannel &channel) : channel(channel) {}
    void start(const Transfer &transfer, uint64_t number);
    bool progress(MpiLibrary &library) override;
    void abandon(const Status &reason) override;
    bool isMoving() const override { return state == State::Data; }

    /// Of one that the other end does not start.
    Status missing(bool hasPeerEnded) const;

    MpiChannel &channel;
    const Transfer *transfer = nullptr;
    Status outcome;
    /// Whether the other end has started it.
    std::atomic<bool> isMet{false};

  private:
    Status step(MpiLibrary &library, bool &hasMoved);
    std::string post(MpiLibrary &library);
    std::string postData(MpiLibrary &library);
    Status compare() const;
    bool waitsInVain();

    enum class State { Word, Data, Draining } state = State::Word;
    bool isPosted = false, isWordExpected = false;
    std::vector<std::byte> ownWord, theirWord;
    MpiRequest request{};
    MpiTransfers words, data;
    WaitBudget budget{std::chrono::nanoseconds(0)};
    /// Since the process of the other end has been seen to have ended.
    std::optional<WaitBudget> lastWait;
    uint64_t number = 0;
    uint32_t looks = 0;
  };

  Status fail(const Status &reason);
  Status failure();

  MpiEngine &engine;
  const MpiGroupHandle handle;
  const Edge edge;
  const bool sends;
  const SpinPolicy spin;
  MpiFailureLine failures;
  std::deque<Slot> ring;
  uint64_t started = 0;
  /// The engine's: the transfer whose data goes next.
  uint64_t nextNumber = 0;

  std::atomic<bool> hasFailed{false};
  std::mutex failureMutex;
  Status firstFailure;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_MPI_MPICHANNEL_H
