//===- NcclCommunicator.h - Collectives by NCCL -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL moves blocks that lie one after the other in the order of the ranks.
// Where the plan's layout has the group's index further inside, the blocks are
// brought together in staging memory, before or after:
//
//   all_gather      [outer, inner]        -> [group, outer, inner] -> result
//   reduce_scatter  source -> [group, outer, inner] -> [outer, inner]
//   all_to_all      source -> [group, outer, middle, inner] -> the same, of
//                   other ranks -> result
//   exchange        source -> the blocks for others -> their blocks -> result
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLCOMMUNICATOR_H
#define WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLCOMMUNICATOR_H

#include "cuda/comm/DeviceWorld.h"
#include "cuda/nccl/NcclIssuer.h"

namespace weft::runtime {

class NcclCommunicator final : public DeviceCommunicator {
public:
  /// `handle` is null in a group of one rank, which needs none.
  NcclCommunicator(NcclIssuer &issuer, std::vector<int> members, int groupRank,
                   std::function<void(uint32_t)> onEnqueue)
      : DeviceCommunicator(std::move(members), groupRank), issuer(issuer),
        onEnqueue(std::move(onEnqueue)) {}

  void setHandle(ncclComm_t newHandle) { handle = newHandle; }

  uint64_t stagingBytes(const DeviceCollective &collective) const override;
  Status enqueue(const DeviceCollective &collective,
                 cudaStream_t stream) override;

private:
  Status dispatch(const DeviceCollective &collective, cudaStream_t stream);
  Status allReduce(const DeviceCollective &collective, cudaStream_t stream);
  Status allGather(const DeviceCollective &collective, cudaStream_t stream);
  Status reduceScatter(const DeviceCollective &collective, cudaStream_t stream);
  Status allToAll(const DeviceCollective &collective, cudaStream_t stream);
  Status permute(const DeviceCollective &collective, cudaStream_t stream);
  Status exchange(const DeviceCollective &collective, cudaStream_t stream);
  Status copy(void *destination, const void *source, size_t bytes,
              cudaStream_t stream);

  NcclIssuer &issuer;
  /// Called with the instruction of every collective.
  const std::function<void(uint32_t)> onEnqueue;
  ncclComm_t handle = nullptr;
};

/// How NCCL calls the types and reductions of a plan. Pred is a byte.
ncclDataType_t ncclTypeOf(DType dtype);
ncclRedOp_t ncclReductionOf(Reduction reduction);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_NCCL_NCCLCOMMUNICATOR_H
