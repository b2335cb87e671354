//===- Rank.h - One rank of a session ---------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory and programs of one rank, and the loop that executes them. All
// functions except the accessors run in the thread of the rank.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_RANK_H
#define WEFT_RUNTIME_SRC_EXECUTOR_RANK_H

#include "cpu/ThreadTeam.h"
#include "executor/Arena.h"
#include "executor/CommunicationThread.h"
#include "executor/Program.h"
#include "executor/Trace.h"
#include "weft/runtime/Plan.h"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace weft::runtime {

/// What the ranks of a session share.
struct RankSetup {
  const Plan &plan;
  const Mesh &mesh;
  const World &world;
  const KernelLibrary &kernels;
  std::chrono::nanoseconds deadline;
  int threads;
  /// Called by any thread of the rank with a failure that must stop all ranks.
  std::function<void(const Status &)> onFailure;
};

class Rank {
public:
  Rank(const RankSetup &setup, int number) : setup(setup), number(number) {}

  /// Allocates, fills the constants, binds all entries.
  Status initialize();

  /// Executes an entry once.
  Status run(uint32_t entry);

  std::byte *arena() const { return memory.data(); }
  uint64_t arenaBytes() const { return memory.size(); }
  Program &program(uint32_t entry) { return programs[entry]; }
  RankTrace &trace() { return tracks; }
  const RankTrace &trace() const { return tracks; }
  /// The instruction that the rank executes now; for reports about ranks that
  /// do not arrive.
  uint32_t currentInstruction() const {
    return instruction.load(std::memory_order_relaxed);
  }

private:
  void fillConstants();
  Status bindScratchpad();
  template <bool isRecording> Status walk(uint32_t entry);
  Status execute(const Step &step, uint32_t entry);
  void record(const Step &step, uint32_t entry,
              std::chrono::steady_clock::time_point begin);

  const RankSetup &setup;
  const int number;
  Arena memory;
  Arena scratchpad;
  /// Before the programs, whose products compute with it.
  std::unique_ptr<ThreadTeam> team;
  std::vector<Program> programs;
  RankTrace tracks;
  /// For each collective of the running entry: the ticket of its start.
  std::vector<uint32_t> tickets;
  std::atomic<uint32_t> instruction{0};
  std::unique_ptr<CommunicationThread> communication;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_RANK_H
