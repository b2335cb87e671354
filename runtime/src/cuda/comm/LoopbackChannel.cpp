//===- LoopbackChannel.cpp - A queue between ranks of one GPU -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/comm/LoopbackChannel.h"

namespace weft::runtime {

LoopbackQueue::LoopbackQueue(const Cudart &cudart, StreamOwner stream,
                             int sender, int receiver, size_t capacity,
                             const SpinPolicy &spin)
    : cudart(cudart), stream(std::move(stream)),
      hosts(sender, receiver, capacity, spin,
            [this](const Transfer &from, const Transfer &to) {
              return move(static_cast<const DeviceTransfer &>(from),
                          static_cast<const DeviceTransfer &>(to));
            }) {}

Status LoopbackQueue::move(const DeviceTransfer &from,
                           const DeviceTransfer &to) const {
  for (const DeviceTransfer *end : {&from, &to})
    WEFT_RETURN_IF_ERROR(cudaStatus(
        cudart, cudart.streamWaitEvent(stream.get(), end->started.get(), 0),
        "cudaStreamWaitEvent"));
  for (size_t i = 0; i < from.parts.size(); ++i)
    if (from.parts[i].bytes != 0)
      WEFT_RETURN_IF_ERROR(cudaStatus(
          cudart,
          cudart.memcpyAsync(to.parts[i].memory, from.parts[i].memory,
                             from.parts[i].bytes, cudaMemcpyDeviceToDevice,
                             stream.get()),
          "cudaMemcpyAsync"));
  for (const DeviceTransfer *end : {&from, &to})
    WEFT_RETURN_IF_ERROR(
        cudaStatus(cudart, cudart.eventRecord(end->done.get(), stream.get()),
                   "cudaEventRecord"));
  return {};
}

} // namespace weft::runtime
