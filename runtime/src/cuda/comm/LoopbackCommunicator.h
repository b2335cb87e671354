//===- LoopbackCommunicator.h - A rank's end of a shared GPU ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_COMM_LOOPBACKCOMMUNICATOR_H
#define WEFT_RUNTIME_SRC_CUDA_COMM_LOOPBACKCOMMUNICATOR_H

#include "comm/InProcessGroup.h"
#include "cuda/comm/Blocks.h"
#include "cuda/comm/DeviceWorld.h"
#include "cuda/platform/Handles.h"

#include <chrono>
#include <vector>

namespace weft::runtime {

/// What the ranks of one group share.
class LoopbackGroup {
public:
  LoopbackGroup(std::vector<int> worldRanks, const SpinPolicy &spin)
      : hosts(std::move(worldRanks), spin) {}
  Status createEvents(const Cudart &cudart);

  /// Where the threads meet.
  InProcessGroup hosts;
  /// For each rank: its source may be read; it has read those of the others.
  std::vector<EventOwner> arrived, done;
};

class LoopbackCommunicator final : public DeviceCommunicator {
public:
  LoopbackCommunicator(const Cudart &cudart, const BlockKernels &kernels,
                       LoopbackGroup &group, int rank,
                       std::chrono::nanoseconds deadline);

  uint64_t stagingBytes(const DeviceCollective &collective) const override;
  Status enqueue(const DeviceCollective &collective,
                 cudaStream_t stream) override;

private:
  Status record(const std::vector<EventOwner> &events, cudaStream_t stream);
  Status waitForOthers(const std::vector<EventOwner> &events,
                       cudaStream_t stream);
  Status move(const DeviceCollective &collective, cudaStream_t stream);
  Status reduce(const DeviceCollective &collective, cudaStream_t stream);
  Status gather(const DeviceCollective &collective, cudaStream_t stream);
  Status allToAll(const DeviceCollective &collective, cudaStream_t stream);
  Status exchange(const DeviceCollective &collective, cudaStream_t stream);
  Status copy(void *destination, const void *source, size_t bytes,
              cudaStream_t stream);
  /// The source of a peer in the collective that they are in.
  const std::byte *source(int peer) const {
    return static_cast<const std::byte *>(
        group.hosts.call(rank(), peer).source);
  }

  const Cudart &cudart;
  const BlockKernels &kernels;
  LoopbackGroup &group;
  const std::chrono::nanoseconds deadline;
  /// Room for the addresses of one reduction.
  std::vector<const void *> sources;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_COMM_LOOPBACKCOMMUNICATOR_H
