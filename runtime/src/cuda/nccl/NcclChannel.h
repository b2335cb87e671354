//===- NcclChannel.h - A queue between two ranks, by NCCL -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A communicator of two ranks, the sender first, and a stream of its own: one
// queue never waits for another. All messages go in one direction, in the order
// in which they start.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLCHANNEL_H
#define WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLCHANNEL_H

#include "cuda/comm/DeviceWorld.h"
#include "cuda/nccl/NcclIssuer.h"

#include <span>

namespace weft::runtime {

class NcclChannel final : public DeviceChannel {
public:
  /// `queue` is its number among those of the plan (PipelineQueues).
  NcclChannel(NcclIssuer &issuer, size_t queue, int worldRank, bool isSender)
      : issuer(issuer), queue(queue), worldRank(worldRank), isSender(isSender) {
  }

  /// Makes the stream, and the connection, so that no start has to wait for the
  /// other end to connect. `memory` is one byte that nobody uses.
  Status connect(ncclComm_t newHandle, void *memory);

  Status start(DeviceTransfer &transfer) override;
  /// The host has nothing to wait for: `done` is recorded by `start`.
  Status wait(DeviceTransfer &) override { return {}; }

private:
  Status moveGroup(std::span<const Transfer::Part> parts);
  Status move(std::span<const Transfer::Part> parts);
  Status startOnStream(DeviceTransfer &transfer);

  NcclIssuer &issuer;
  const size_t queue;
  const int worldRank;
  const bool isSender;
  ncclComm_t handle = nullptr;
  StreamOwner stream;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLCHANNEL_H
