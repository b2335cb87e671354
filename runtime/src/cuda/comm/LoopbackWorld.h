//===- LoopbackWorld.h - Ranks that share one GPU ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The world whose ranks are threads of one process on one device: for tests of
// plans, streams and events without a second GPU. A collective of a rank is
//
//   record `arrived` on its stream; meet the others on the host
//   make its stream wait for the `arrived` of all others
//   copy or reduce its part out of the others' memory, in the order of the
//     ranks: the bits of InProcessWorld
//   record `done`; part from the others on the host
//   make its stream wait for the `done` of all others
//
// The meetings on the host are of those who enqueue, never of the device: an
// event may be waited for only when it was recorded, and recorded again only
// when everybody waits for it. They check that all ranks call the same, and
// name who does not come.
//
// Graphs are not captured with more than one rank: CUDA does not let one
// capture wait for an event of another.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_COMM_LOOPBACKWORLD_H
#define WEFT_RUNTIME_SRC_CUDA_COMM_LOOPBACKWORLD_H

#include "cuda/comm/Blocks.h"
#include "cuda/comm/DeviceWorld.h"

#include <chrono>
#include <memory>
#include <vector>

namespace weft::runtime {

class LoopbackGroup;
class LoopbackQueue;

class LoopbackWorld final : public DeviceWorld {
public:
  /// Creates the communicators of `ranks` ranks for all `groups` and the
  /// channels of all `pipelineQueues`, on the current device. `deadline` bounds
  /// the wait of a rank for the others.
  static Result<std::unique_ptr<LoopbackWorld>>
  create(const Cudart &cudart, int ranks, const std::vector<GroupRanks> &groups,
         CollectiveQueues queues, std::chrono::nanoseconds deadline,
         const std::vector<QueueRanks> &pipelineQueues = {});
  ~LoopbackWorld() override;

  int size() const override { return static_cast<int>(numbers.size()); }
  std::span<const int> localRanks() const override { return numbers; }
  const CollectiveQueues &queues() const override { return queueTable; }
  /// One for all queues: events know no communicators.
  DeviceCommunicator *communicator(int rank, size_t group,
                                   size_t queue) const override;
  DeviceChannel *channel(int rank, size_t queue) const override;
  Status localBarrier(int rank) override;
  Status barrier(int rank) override;
  bool allowsCapture() const override { return size() == 1; }
  void abort(const Status &reason) override;
  Status status() const override;

private:
  LoopbackWorld(BlockKernels kernels, int ranks, CollectiveQueues queues,
                std::chrono::nanoseconds deadline);
  Status addGroup(const Cudart &cudart, const GroupRanks &lists);
  Status addQueue(const Cudart &cudart, const QueueRanks &queue);
  Status meetAll(int rank, std::chrono::nanoseconds timeout);

  const BlockKernels kernels;
  const CollectiveQueues queueTable;
  const std::chrono::nanoseconds deadline;
  std::vector<int> numbers;
  /// The lists of all groups, and one of all ranks for the barrier.
  std::vector<std::unique_ptr<LoopbackGroup>> groups;
  LoopbackGroup *everyone = nullptr;
  /// [group][world rank]
  std::vector<std::vector<std::unique_ptr<DeviceCommunicator>>> communicators;
  std::vector<std::unique_ptr<LoopbackQueue>> pipelineQueues;
  /// [queue][world rank]
  std::vector<std::vector<std::unique_ptr<DeviceChannel>>> channels;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_COMM_LOOPBACKWORLD_H
