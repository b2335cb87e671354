//===- CpuRank.h - A rank in host memory ------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arena and programs of one rank, and the loop that executes them.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_CPURANK_H
#define WEFT_RUNTIME_SRC_EXECUTOR_CPURANK_H

#include "cpu/ThreadTeam.h"
#include "executor/Arena.h"
#include "executor/CommunicationQueue.h"
#include "executor/Program.h"
#include "executor/Rank.h"

#include <memory>
#include <vector>

namespace weft::runtime {

/// What the ranks of a session share.
struct CpuRankSetup {
  const RankRequest &request;
  const World &world;
  const KernelLibrary &kernels;
};

class CpuRank final : public Rank {
public:
  CpuRank(const CpuRankSetup &setup, int number)
      : Rank(number), setup(setup), request(setup.request) {}

  Status initialize() override;
  Status run(uint32_t entry) override;
  bool hasCarrier(uint32_t entry) const override {
    return programs[entry].isAsynchronous;
  }
  void carry() override { communication->carry(); }
  std::string progress(uint32_t entry) const override;
  std::byte *input(uint32_t entry, size_t input) override {
    return programs[entry].inputs[input].staging.data();
  }
  Status write(uint64_t offset, size_t bytes, const Fill &fill) override;
  Result<const std::byte *> read(uint64_t offset, size_t bytes,
                                 std::vector<std::byte> &copy) const override;
  uint64_t arenaBytes() const override { return memory.size(); }

private:
  void fillConstants();
  Status bindScratchpad();
  template <bool isRecording> Status walk(uint32_t entry);
  Status execute(const Step &step, uint32_t entry);
  void record(const Step &step, uint32_t entry,
              std::chrono::steady_clock::time_point begin);

  const CpuRankSetup &setup;
  const RankRequest &request;
  Arena memory;
  Arena scratchpad;
  /// Before the programs, whose GEMMs compute with it.
  std::unique_ptr<ThreadTeam> team;
  std::vector<Program> programs;
  /// For each collective of the running entry: the ticket of its start.
  std::vector<uint32_t> tickets;
  std::unique_ptr<CommunicationQueue> communication;
};

/// The ranks of a plan for "cpu" as threads of this process, if the machine has
/// what it needs; they are not yet initialized.
Result<std::unique_ptr<RankSet>> createCpuRanks(const RankRequest &request);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_CPURANK_H
