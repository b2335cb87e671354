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
#include "watch/FlightRecorder.h"

#include <memory>
#include <optional>
#include <vector>

namespace weft::runtime {

/// What the ranks of a session share.
struct CpuRankSetup {
  const RankRequest &request;
  const Roles &roles;
  const PipelineQueues &queues;
  const World &world;
  const KernelLibrary &kernels;
};

class CpuRank final : public Rank {
public:
  CpuRank(const CpuRankSetup &setup, int number)
      : Rank(number), setup(setup), request(setup.request),
        role(setup.roles.of(number)) {
    if (const Bootstrap *job = request.options.bootstrap.get();
        job && job->launch().world > 1)
      recorder.emplace();
  }

  Status initialize() override;
  Status run(uint32_t entry) override;
  bool hasCarrier(uint32_t entry) const override {
    return programs[entry].isAsynchronous;
  }
  void carry() override { communication->carry(); }
  std::string progress(uint32_t entry) const override;
  std::string lastEvents() const override {
    return recorder ? recorder->toString() : "";
  }
  std::byte *input(uint32_t entry, size_t input) override {
    return programs[entry].inputs[input].staging.data();
  }
  Status write(uint64_t offset, size_t bytes, const Fill &fill) override;
  Result<const std::byte *> read(uint64_t offset, size_t bytes,
                                 std::vector<std::byte> &copy) const override;
  uint64_t arenaBytes() const override { return memory.size(); }

private:
  using Time = std::chrono::steady_clock::time_point;

  void fillConstants();
  void fillCounts();
  Status bindEntries();
  Status bindScratchpad();
  template <bool isRecording> Status walk(uint32_t entry);
  Status execute(const Step &step);
  template <typename Wait> Status timed(const Wait &wait);
  Status located(Status status, const Program &program, const Step &step,
                 uint32_t at) const;
  void enter(const Program &program, const Step *step, uint32_t at);
  void record(const Step &step, Time begin);
  void recordFlight(const Step &step);

  const CpuRankSetup &setup;
  const RankRequest &request;
  const uint32_t role;
  Arena memory;
  Arena scratchpad;
  /// Before the programs, whose GEMMs compute with it.
  std::unique_ptr<ThreadTeam> team;
  std::vector<Program> programs;
  /// For each collective of the running entry, by its number: the ticket of its
  /// start.
  std::vector<uint32_t> tickets;
  /// For each send and receive of the running row: the ticket of its start.
  std::vector<uint64_t> transfers;
  std::unique_ptr<CommunicationQueue> communication;
  /// While a timeline is recorded: the action, and the segment, if it is one,
  /// that is being executed.
  std::optional<TraceAction> action;
  /// In a job of several processes.
  std::optional<FlightRecorder> recorder;
  uint32_t runs = 0;
  std::optional<TraceEvent> segment;
};

/// The ranks of a plan for "cpu" as threads of this process, if the machine has
/// what it needs; they are not yet initialized.
Result<std::unique_ptr<RankSet>> createCpuRanks(const RankRequest &request);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_CPURANK_H
