//===- HostRounds.h - Rounds of processes that share memory -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the processes of a group that are all on one host meet: each puts what it
// has for the others into an outbox that they read, and counts its rounds
// there. No call of MPI, whose messages take several times as long, and none of
// the thread that makes them.
//
//   process 0   put: outbox 0, round 7      read outboxes 1, 2
//   process 1   put: outbox 1, round 7      read outboxes 0, 2
//   process 2   . . . . . . . . put: outbox 2, round 7      read 0, 1
//
// An outbox has two sides, of even and of odd rounds, as the seats of threads
// have (InProcessGroup.h): who puts out round 9 has seen round 8 of all others,
// who have read round 7 before.
//
// What does not fit is left to MPI.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_MPI_HOSTROUNDS_H
#define WEFT_RUNTIME_COMM_MPI_HOSTROUNDS_H

#include "comm/EventCount.h"
#include "weft/runtime/Status.h"

#include <cstddef>
#include <span>
#include <vector>

namespace weft::runtime {

class HostRounds {
public:
  /// Of what a process puts out in a round.
  static constexpr size_t outboxBytes = size_t(64) << 10;
  /// Of the memory of a group.
  static size_t bytesFor(size_t processes);

  /// `memory` began as zeros; `own` is this one of the processes.
  HostRounds(std::byte *memory, size_t processes, size_t own);

  /// Something for another process.
  struct Piece {
    size_t process;
    const void *memory;
    size_t bytes;
  };
  /// Begins a round with `word` for all, and the pieces if all of them fit:
  /// whether they do.
  bool put(std::span<const std::byte> word, std::span<const Piece> pieces);
  /// What changes when another process puts something out, or fails.
  EventCount &event() { return *changed; }
  bool isHere(size_t process) const;
  bool areAllHere() const;

  // Of a process that is here, in this round:
  std::span<const std::byte> wordOf(size_t process) const;
  /// Copies the next piece that it has for this one; false when it left its
  /// pieces to MPI.
  Result<bool> take(size_t process, void *memory, size_t bytes);

  /// Tells all processes; once.
  void fail(const Status &reason);
  /// Success, or what another process has told.
  Status failure() const;
  void wake() { changed->notifyAll(); }

private:
  struct Outbox;
  Outbox &outbox(size_t process) const;

  std::byte *const memory;
  const size_t processes, own;
  EventCount *const changed;
  uint64_t round = 0;
  /// Of each process, the next entry of its table.
  std::vector<uint32_t> next;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_MPI_HOSTROUNDS_H
