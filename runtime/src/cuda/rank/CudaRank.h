//===- CudaRank.h - A rank in the memory of a GPU ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arena of one rank, its streams - one for computation, one for each queue
// of collectives - and how a run gets onto them:
//
//   runs 1 and 2   step after step (libraries connect and choose in them,
//                  rule N12)
//   run 3          the same steps, captured in a graph; the graph is launched
//   later          the graph is launched
//   traced runs    step after step, between timed events
//
// A run allocates nothing and waits for the device once, at its end. The first
// run is between two barriers of all ranks (rule C1). Every few steps the
// device marks how far it has come: what hangs, and what fails, is somewhere
// after the last mark, also in a graph, where the host has long passed.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_RANK_CUDARANK_H
#define WEFT_RUNTIME_SRC_CUDA_RANK_CUDARANK_H

#include "cuda/gemm/SharedAlgorithms.h"
#include "cuda/rank/CudaProgram.h"
#include "cuda/rank/DeviceMarks.h"
#include "cuda/rank/StepTimer.h"
#include "executor/Rank.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

namespace weft::runtime {

/// Steps between two marks: an entry of a thousand steps has about fifteen.
inline constexpr size_t markInterval = 64;

/// What the ranks of a session share.
struct CudaRankSetup {
  const RankRequest &request;
  const Roles &roles;
  const PipelineQueues &queues;
  const Cudart &cudart;
  const CublasLt &cublasLt;
  const Cudnn *cudnn;
  const CudaDevice &device;
  const Roofline &roofline;
  const PlanKernels &kernels;
  DeviceWorld &world;
  /// Held by who compares its needs with free memory, until it has taken them.
  std::mutex &taking;
  /// Why `cudnn` is null.
  std::string whyNoCudnn = {};
  /// Null unless the ranks are processes.
  SharedAlgorithms *algorithms = nullptr;
  /// 0 = all.
  int processorsBesideCollectives = 0;
};

class CudaRank final : public Rank {
public:
  CudaRank(const CudaRankSetup &setup, int number)
      : Rank(number), setup(setup), role(setup.roles.of(number)),
        cudart(setup.cudart) {}
  ~CudaRank() override;

  Status initialize() override;
  Status run(uint32_t entry) override;
  void finish() override;
  std::string progress(uint32_t entry) const override;
  bool isStuck() const override { return isHung; }
  std::byte *input(uint32_t entry, size_t input) override {
    return static_cast<std::byte *>(
        runs[entry].program.inputs[input].staging.get());
  }
  Status write(uint64_t offset, size_t bytes, const Fill &fill) override;
  Result<const std::byte *> read(uint64_t offset, size_t bytes,
                                 std::vector<std::byte> &copy) const override;
  /// In the thread of the rank: what every rank has, in their order.
  Result<std::vector<std::byte>> gather(std::span<const std::byte> mine);
  uint64_t arenaBytes() const override { return setup.roles.arenaBytes(role); }

private:
  /// An entry, and how often it ran.
  struct EntryRuns {
    CudaProgram program;
    uint64_t count = 0;
    GraphExecOwner graph;
    /// Of those that ended well.
    std::chrono::nanoseconds longest{0};
  };

  std::byte *address(uint64_t offset) const {
    return static_cast<std::byte *>(arena.get()) + offset;
  }
  Status check(cudaError_t error, std::string_view call) const {
    return cudaStatus(cudart, error, call);
  }
  /// Whether all streams are idle, or the device is lost, within a time.
  bool waitUntilIdle(std::chrono::nanoseconds timeout) const;
  Status createStreams();
  Status bindEntries();
  Status bindWorkspaces();
  Status allocateWorkspaces(size_t ofOperations,
                            const std::vector<size_t> &ofCollectives);
  Status exerciseOperations();
  Status clear(void *memory, size_t bytes);
  Status fillArena();
  Status fillConstants();
  Status fillCounts();

  Status enqueueInputs(const CudaProgram &program);
  Result<cudaStream_t> streamFor(const CudaStep &step);
  Status enqueue(const CudaStep &step, cudaStream_t stream);
  template <bool isTimed> Status walk(const CudaProgram &program);
  Status capture(EntryRuns &runs);
  Status runSteps(uint32_t entry);
  Status runOnDevice(uint32_t entry);
  Status waitForDevice(const EntryRuns &runs);
  std::string deviceProgress(const EntryRuns &runs, bool withCauses) const;
  std::string describeStep(const CudaProgram &program, size_t position,
                           bool withCause) const;
  Status located(Status status, const CudaProgram &program,
                 const CudaStep &step, size_t position) const;
  TraceEvent eventOf(const CudaProgram &program, const CudaStep &step,
                     size_t position) const;

  const CudaRankSetup &setup;
  const uint32_t role;
  const Cudart &cudart;
  StreamOwner compute;
  /// By queue (CollectiveQueues.h).
  std::vector<StreamOwner> communication;
  std::optional<CudaContext> context;
  ArenaMemory arena;
  DeviceMemory kernelWorkspace, workspace;
  std::vector<DeviceMemory> staging;
  std::vector<EntryRuns> runs;
  std::optional<StepTimer> timer;
  DeviceMarks marks;
  /// What the rank's thread does with a run; one that fails stays where it is.
  enum class HostState { Between, Enqueues, Waits };
  std::atomic<HostState> hostState{HostState::Between};
  bool hasRun = false;
  bool hasFinished = false;
  bool isHung = false;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_RANK_CUDARANK_H
