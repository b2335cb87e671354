//===- DeviceWorld.h - Data exchange between devices ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Communicator.h is for ranks in host memory, for ranks on CUDA devices:
// a collective is not carried out by a call but enqueued on a communication
// stream of the rank, one a queue, and nobody waits for it on the host.
//
//   LoopbackWorld   ranks are threads of this process and share one device
//   NcclWorld       one rank a process, each on a device of its own
//
// Layouts are those of `CollectiveStart` in plan.fbs.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_COMM_DEVICEWORLD_H
#define WEFT_RUNTIME_SRC_CUDA_COMM_DEVICEWORLD_H

#include "cuda/platform/Handles.h"
#include "cuda/platform/Libraries.h"
#include "weft/runtime/CollectiveQueues.h"
#include "weft/runtime/Communicator.h"
#include "weft/runtime/DType.h"
#include "weft/runtime/Status.h"
#include "weft/runtime/plan_generated.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::runtime {

/// One collective of a plan, bound to the memory of one rank. It has an address
/// of its own for the life of the session.
struct DeviceCollective {
  plan::CollectiveKind kind = plan::CollectiveKind::AllReduce;
  Reduction reduction = Reduction::Sum;
  const void *source = nullptr;
  /// Equal to the source only in an AllReduce in place.
  void *destination = nullptr;
  int64_t outer = 1;
  int64_t middle = 1;
  int64_t inner = 1;
  bool splitFirst = false;
  DType dtype = DType::F32;
  /// Permute: ranks of the group that this one receives from and sends to; the
  /// rank itself where it keeps its data.
  int receiveFrom = 0;
  int sendTo = 0;
  /// Exchange: what this rank gives and gets.
  Exchange exchange;
  /// Index of its CollectiveStart in the entry, and why it is there.
  uint32_t instruction = 0;
  std::string_view cause;
  /// Those of a queue run one after the other.
  size_t queue = 0;
  /// Device memory of the size that `stagingBytes` asked for, 256 bytes
  /// aligned. The collectives of a queue share it.
  void *staging = nullptr;
};

/// One rank's end of one group. Used by the thread of its rank alone, in the
/// same order on all ranks of the group.
class DeviceCommunicator {
public:
  virtual ~DeviceCommunicator() = default;
  DeviceCommunicator(const DeviceCommunicator &) = delete;
  DeviceCommunicator &operator=(const DeviceCommunicator &) = delete;

  /// This rank's number in the group and the number of ranks in it.
  int rank() const { return groupRank; }
  int size() const { return static_cast<int>(members.size()); }
  /// The numbers in the world of the group's ranks, in group order.
  std::span<const int> worldRanks() const { return members; }
  /// This rank's number in the world.
  int worldRank() const { return members[groupRank]; }

  /// Bytes of device memory that a collective needs beside its buffers.
  virtual uint64_t stagingBytes(const DeviceCollective &) const { return 0; }

  /// Puts this rank's part on the stream, after everything that is on it. What
  /// comes after it on the stream sees the destination complete and may write
  /// over the source. Allocates nothing.
  virtual Status enqueue(const DeviceCollective &collective,
                         cudaStream_t stream) = 0;

protected:
  DeviceCommunicator(std::vector<int> members, int groupRank)
      : members(std::move(members)), groupRank(groupRank) {}

private:
  std::vector<int> members;
  int groupRank;
};

/// A send or receive of a pipeline, bound to the memory of one rank, and the
/// events that order it against the computation. It has an address of its own
/// for the life of the session.
struct DeviceTransfer : Transfer {
  /// Recorded on the compute stream where it starts, and behind the transfer.
  EventOwner started;
  EventOwner done;
  /// While it is in flight.
  uint64_t ticket = 0;
};

/// One end of a queue from one rank to one other (Channel in Communicator.h).
/// Used by the thread of its rank alone.
class DeviceChannel {
public:
  virtual ~DeviceChannel() = default;

  /// Starts to send or receive once `started`, which was recorded, is reached.
  virtual Status start(DeviceTransfer &transfer) = 0;

  /// Returns when `done` has been recorded, so that a stream can wait for it.
  virtual Status wait(DeviceTransfer &transfer) = 0;
};

/// Device memory, whoever gave it.
using ArenaMemory = std::unique_ptr<void, std::function<void(void *)>>;

/// The ranks of a job and their communicators, all created before the first
/// step in the order of the plan's groups.
class DeviceWorld {
public:
  virtual ~DeviceWorld() = default;

  /// Number of ranks, and those that are threads of this process.
  virtual int size() const = 0;
  virtual std::span<const int> localRanks() const = 0;

  /// Which collectives run side by side.
  virtual const CollectiveQueues &queues() const = 0;

  /// The end of world rank `rank` in group `group` of the plan, for collectives
  /// of a queue that the group needs; null when the rank is in none of its
  /// lists or lives in another process. Owned by the world.
  virtual DeviceCommunicator *communicator(int rank, size_t group,
                                           size_t queue) const = 0;

  /// The end of world rank `rank` of a queue of the plan's pipeline; null when
  /// the rank is at neither. Owned by the world.
  virtual DeviceChannel *channel(int rank, size_t queue) const = 0;

  /// The arena of a rank, on the current device.
  virtual Result<ArenaMemory> allocateArena(const Cudart &cudart, size_t bytes);

  /// Called by the thread of a rank once its device is current and its arena
  /// exists: what must be made or registered by the thread that owns it.
  virtual Status attach(int /*rank*/, void * /*arena*/, size_t /*bytes*/) {
    return {};
  }

  /// Called by the same thread as its last word to the world, also after a
  /// failure, before anything of the rank's device is freed: ends what `attach`
  /// made, and after an abort what still runs on the device for it.
  virtual void detach(int /*rank*/) {}

  /// Called by the thread of a rank around each run of an entry (its index in
  /// the plan): before anything of it is enqueued, with an idle device, and
  /// when the device is idle again or the run has failed. What watches over the
  /// rank measures its runs by these.
  virtual void beginRun(int /*rank*/, uint32_t /*entry*/) {}
  virtual void endRun(int /*rank*/) {}

  /// Whether something else than the thread of a rank notices that a device no
  /// longer moves.
  virtual bool isWatched() const { return false; }

  /// Returns when the ranks that share a device with this one have called it,
  /// while a plan is loaded: what one of them holds for a while, or is about to
  /// take, another one must not count on. There is no deadline: each takes as
  /// long as its trials, and one that fails ends the wait.
  virtual Status localBarrier(int /*rank*/) { return {}; }

  /// Returns when the host threads of all ranks have called it (rule C1: before
  /// and after the first step).
  virtual Status barrier(int rank) = 0;

  /// Puts on the stream that every rank gets `bytes` of each, in their order.
  /// By the thread of the rank, between two runs, where ranks are processes.
  virtual Status gather(const void *source, void *destination, size_t bytes,
                        cudaStream_t stream);

  /// Whether collectives may be captured in a CUDA graph, the same on all
  /// ranks.
  virtual bool allowsCapture() const = 0;

  /// Ends all communication with `reason`; the first reason stays. Safe from
  /// any thread.
  virtual void abort(const Status &reason) = 0;

  /// Success, or the reason of the first abort; also what is polled by a host
  /// thread that waits for its device.
  virtual Status status() const = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_COMM_DEVICEWORLD_H
