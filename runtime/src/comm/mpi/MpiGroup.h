//===- MpiGroup.h - Where the ranks of several processes meet ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group whose ranks live in several processes. A round, which is one call of
// all ranks, begins in each process: its ranks meet as threads do
// (InProcessGroup.h). The first of them then tells the other processes what is
// called, and the data moves once all have said the same.
//
//   ranks 0, 1 of process 0   meet      say "all_reduce f32[8]"   data
//   ranks 2, 3 of process 1   . . meet  say "all_reduce f32[8]"   data
//
// Small data goes along with the word. A process that fails the group says so
// to the others in a message of its own, wherever they are in a round. On one
// host words, small data and failures go through memory (HostRounds.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_MPI_MPIGROUP_H
#define WEFT_RUNTIME_COMM_MPI_MPIGROUP_H

#include "HostRounds.h"
#include "MpiEngine.h"
#include "MpiFailureLine.h"
#include "MpiTransfers.h"
#include "comm/Call.h"
#include "comm/InProcessGroup.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::runtime {

/// Where world ranks live: those of process p are `starts[p]` on.
class ProcessRanks {
public:
  /// `places` are those of the processes: " on node7", or "".
  ProcessRanks(int ranks, std::vector<std::string> places);
  int processOf(int rank) const;
  /// "process 1 on node7".
  std::string nameOf(int process) const;
  int first(int process) const { return starts[process]; }
  int end(int process) const { return starts[process + 1]; }

private:
  std::vector<int> starts;
  std::vector<std::string> places;
};

class MpiGroup final : public MpiTask {
public:
  /// The members of the group in one process: indices in the group.
  struct Process {
    int process;
    std::string name;
    std::vector<int> members;
  };
  /// A message of the data of a round.
  struct Message {
    bool isSend;
    /// Index in `processes()`.
    size_t peer;
    void *memory;
    size_t bytes;
  };

  /// `handle` is the communicator of the processes that have ranks of the
  /// group, in their order. `hostMemory` is theirs (HostRounds.h), if they are
  /// on one host, or null.
  MpiGroup(MpiEngine &engine, MpiGroupHandle handle,
           const std::vector<int> &worldRanks, const ProcessRanks &ranks,
           std::byte *hostMemory, const SpinPolicy &spin);
  ~MpiGroup() override;

  const std::vector<int> &worldRanks() const { return members; }
  const std::vector<Process> &processes() const { return theProcesses; }
  /// This process among them.
  size_t here() const { return own; }
  /// Index in `processes()` of that of a member.
  size_t processOf(int member) const { return processOfMember[member]; }
  /// Index of a member of this process among those of this process.
  int localIndex(int member) const { return localOfMember[member]; }
  InProcessGroup &local() { return *localGroup; }
  /// Whether a rank of this process waits for another process.
  bool waitsForProcesses() const { return engine.isBusy(); }

  /// By the first rank of this process, after all of them have met: agrees with
  /// the other processes and moves the messages that `prepare` puts into
  /// `messages`. Small ones go along with the word. In a permutation, whose
  /// ranks of this process want to receive from `receiveFrom`, `prepare` is
  /// called by the engine once `receivesFrom` is known.
  Status exchange(const Call &call, std::chrono::nanoseconds timeout,
                  const std::function<void()> &prepare,
                  std::span<const int32_t> receiveFrom = {});
  /// More of the same round: `messages` without a word before them.
  Status moveMore(const Call &call, std::chrono::nanoseconds timeout);
  std::vector<Message> messages;
  /// Of a permutation, while it is prepared: whom each member receives from.
  std::vector<int32_t> receivesFrom;

  /// Meets the other ranks of this process, which are in the same round.
  void sync();

  /// Lets who waits on this host look at what the engine knows.
  void wake();

  /// Ends the group with `reason`, unless it failed before, and tells the other
  /// processes. Returns the failure that counts.
  Status fail(const Status &reason);
  /// The same, where the others know or are told otherwise.
  Status stop(const Status &reason);

  bool progress(MpiLibrary &library) override;
  void abandon(const Status &reason) override;
  bool isMoving() const override { return state == State::Data; }
  /// Before the engine closes it: nothing of it is left to do.
  void finishTasks();
  /// By the thread of the engine, last: takes back what is expected of others,
  /// and frees the communicator if nothing can be on its way in it.
  void close(MpiLibrary &library);

private:
  /// What a process says to the others at the begin of a round; the members
  /// that its ranks receive from, and what the data is, follow.
  struct Word {
    uint64_t round = 0;
    CallShape shape;
    int64_t planStep = -1;
    int32_t rank = 0;
    uint32_t members = 0;
    uint32_t textBytes = 0;
  };
  static constexpr size_t longestText = 1024;
  /// Of another process.
  struct Peer {
    size_t process;
    std::vector<std::byte> word;
    MpiRequest request{};
    bool isExpected = false, hasArrived = false;
  };
  enum class State { Words, Data, Draining };

  static std::vector<std::byte> wordOf(Word word,
                                       std::span<const int32_t> receiveFrom,
                                       std::string_view text);
  static Word read(const std::vector<std::byte> &message);
  static std::string textOf(const std::vector<std::byte> &message);

  void setCall(const Call &call, std::chrono::nanoseconds timeout);
  Status run();
  Status meetOnHost(std::span<const std::byte> word,
                    std::chrono::nanoseconds patience);
  Status takeFromHost();
  Status moveRest();
  void takeWord(Peer &peer);
  Status told(MpiLibrary &library);
  std::string post(MpiLibrary &library);
  std::string postMessages(MpiLibrary &library);
  std::string takeWords(MpiLibrary &library, bool &hasMoved);
  Status step(MpiLibrary &library, bool &hasMoved);
  Status checkAgreement() const;
  bool hasEnded(const Peer &peer) const;
  bool waitsInVain();
  Status missing() const;
  Status stalled() const;
  void drain(MpiLibrary &library, const Status &reason);

  MpiEngine &engine;
  const MpiGroupHandle handle;
  const std::vector<int> members;
  const SpinPolicy spin;
  std::vector<Process> theProcesses;
  size_t own = 0;
  std::vector<size_t> processOfMember;
  std::vector<int> localOfMember;
  std::unique_ptr<InProcessGroup> localGroup;
  std::vector<Peer> peers;
  std::optional<HostRounds> host;
  std::vector<HostRounds::Piece> pieces;
  bool areAllOut = false;

  // Of the round in progress; the engine's while it runs.
  State state = State::Words;
  Call call;
  std::chrono::nanoseconds timeout{0};
  WaitBudget budget{std::chrono::nanoseconds(0)};
  /// Since a process that is waited for has been seen to have ended.
  std::optional<WaitBudget> lastWait;
  const std::function<void()> *prepare = nullptr;
  bool hasWords = false, isPosted = false, isEager = false;
  std::vector<std::byte> ownWord;
  MpiTransfers words, data;
  Status outcome;
  uint64_t rounds = 0;
  uint32_t looks = 0;

  /// Of a group without memory of a host.
  std::optional<MpiFailureLine> failures;
  std::atomic<bool> hasFailed{false};

  std::atomic<uint64_t> arrivals{0};
  EventCount arrived;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_MPI_MPIGROUP_H
