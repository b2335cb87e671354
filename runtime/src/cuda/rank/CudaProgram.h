//===- CudaProgram.h - An entry bound to the memory of a GPU ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What executor/Program.h is for host memory: a flat list of steps with
// addresses. A step is enqueued on one of these streams:
//
//   compute         GEMMs, attention, kernels, copies
//   communication   (one for each queue) collectives, which wait for an event
//   that is recorded on
//                   the compute stream where they start; their wait makes the
//                   compute stream wait for an event recorded after them
//   pipeline        (one for each queue, of its channel) sends and receives, in
//                   the same way
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_RANK_CUDAPROGRAM_H
#define WEFT_RUNTIME_SRC_CUDA_RANK_CUDAPROGRAM_H

#include "cuda/comm/DeviceWorld.h"
#include "cuda/platform/Context.h"
#include "cuda/platform/Handles.h"
#include "cuda/platform/Operation.h"
#include "cuda/rank/PlanKernels.h"
#include "executor/TimelineParts.h"
#include "plan/Mesh.h"
#include "plan/StepOrder.h"

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace weft::runtime {

/// A collective, where its rank is in its group, and the events that order it
/// against the computation.
struct BoundDeviceCollective {
  DeviceCollective collective;
  DeviceCommunicator *communicator = nullptr;
  EventOwner started;
  EventOwner done;
};

/// A kernel of the plan, a row of blocks for each set of its batch. CUDA takes
/// addresses of the parameters' values.
struct GridLaunch {
  cudaKernel_t kernel = nullptr;
  unsigned blocks = 1;
  unsigned batch = 1;
  unsigned threads = 1;
  /// Of shared memory, beside what the kernel declares.
  unsigned sharedBytes = 0;
  std::vector<uint64_t> values;
  std::vector<void *> parameters;
};

struct OperationStep {
  CudaOperation *operation;
};
struct GridStep {
  GridLaunch *launch;
};
struct DeviceStartStep {
  BoundDeviceCollective *bound;
};
struct DeviceWaitStep {
  BoundDeviceCollective *bound;
};
struct DeviceCopyStep {
  void *destination;
  const void *source;
  size_t bytes;
};

/// The start of a send or receive of a timeline, and its wait.
struct DeviceTransferStep {
  DeviceChannel *channel;
  DeviceTransfer *transfer;
};
struct DeviceTransferWaitStep {
  DeviceChannel *channel;
  DeviceTransfer *transfer;
};

struct CudaStep {
  std::variant<OperationStep, GridStep, DeviceStartStep, DeviceWaitStep,
               DeviceCopyStep, DeviceTransferStep, DeviceTransferWaitStep>
      operation;
  /// As Step of executor/Program.h has them.
  uint32_t entry = 0;
  uint32_t instruction = 0;
  /// For profilers: "gelu of h (mlp.py:7)".
  std::string label;
};

/// Where the host puts an input, and where every run copies it to.
struct PinnedInput {
  PinnedMemory staging;
  std::byte *destination = nullptr;
  size_t bytes = 0;
};

/// One entry of one rank, as Program of executor/Program.h.
struct CudaProgram : TimelineParts {
  CudaProgram() = default;
  CudaProgram(const CudaProgram &) = delete;
  CudaProgram(CudaProgram &&) = default;
  CudaProgram &operator=(CudaProgram &&) = default;

  const plan::Entry *entry = nullptr;
  std::vector<CudaStep> steps;
  /// As a call executes them, by number.
  StepOrder order;
  std::vector<PinnedInput> inputs;

  // What the steps point to.
  std::vector<std::unique_ptr<CudaOperation>> operations;
  std::deque<BoundDeviceCollective> collectives;
  std::deque<GridLaunch> launches;

  // Of a timeline: the segments that the steps are of, and by action what it
  // sends and receives.
  std::vector<CudaProgram> segments;
  std::map<uint32_t, DeviceTransfer> transfers;

  /// Bytes that its operations want, and its collectives in a queue.
  size_t workspaceBytes() const;
  size_t stagingBytes(size_t queue) const;
  /// Gives them that memory.
  void bindWorkspaces(void *workspace,
                      const std::vector<DeviceMemory> &staging);
  /// Puts each operation on a stream once.
  Status enqueueOperations(cudaStream_t stream) const;
};

/// What a program is bound to.
struct CudaBinding {
  const plan::Plan &plan;
  const Mesh &mesh;
  const DeviceWorld &world;
  const PlanKernels &kernels;
  const CudaContext &context;
  int rank;
  const Roles &roles;
  const PipelineQueues &queues;
  std::byte *arena;
  /// What kernels work in; null when none does.
  void *kernelWorkspace;
  /// Longest wait of a message for its other end.
  std::chrono::nanoseconds deadline;
};

/// Binds the entry of a verified plan with that number, or a segment for a
/// micro-batch, in the thread of the rank. Operations and collectives still
/// need their memory.
Result<CudaProgram> bindCudaProgram(uint32_t entry, const CudaBinding &binding,
                                    uint32_t microbatch = 0);

/// The same for an entry with a timeline: what the role of the rank does.
Result<CudaProgram> bindCudaTimeline(uint32_t entry,
                                     const CudaBinding &binding);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_RANK_CUDAPROGRAM_H
