//===- NcclChannel.cpp - A queue between two ranks, by NCCL ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/nccl/NcclChannel.h"

#include "cuda/nccl/NcclCommunicator.h"
#include "plan/Text.h"

#include <algorithm>

namespace weft::runtime {

Status NcclChannel::connect(ncclComm_t newHandle, void *memory) {
  handle = newHandle;
  WEFT_ASSIGN_OR_RETURN(stream, createStream(issuer.cudart, -1));
  const Transfer::Part part = {static_cast<std::byte *>(memory), 1,
                               DType::Pred};
  return move({&part, 1});
}

Status NcclChannel::moveGroup(std::span<const Transfer::Part> parts) {
  return issuer.group(handle, [&]() -> Status {
    for (const Transfer::Part &part : parts) {
      const size_t count = part.bytes / byteSize(part.dtype);
      WEFT_RETURN_IF_ERROR(
          isSender
              ? issuer.call("ncclSend", handle,
                            [&] {
                              return issuer.nccl.send(
                                  part.memory, count, ncclTypeOf(part.dtype),
                                  /*peer=*/1, handle, stream.get());
                            })
              : issuer.call("ncclRecv", handle, [&] {
                  return issuer.nccl.recv(part.memory, count,
                                          ncclTypeOf(part.dtype), /*peer=*/0,
                                          handle, stream.get());
                }));
    }
    return {};
  });
}

/// NCCL divides larger groups, and might not do so alike at both ends.
Status NcclChannel::move(std::span<const Transfer::Part> parts) {
  constexpr size_t most = 256;
  for (size_t begin = 0; begin < parts.size(); begin += most)
    WEFT_RETURN_IF_ERROR(
        moveGroup(parts.subspan(begin, std::min(most, parts.size() - begin))));
  return {};
}

Status NcclChannel::startOnStream(DeviceTransfer &transfer) {
  const Cudart &cudart = issuer.cudart;
  WEFT_RETURN_IF_ERROR(issuer.check());
  WEFT_RETURN_IF_ERROR(cudaStatus(
      cudart, cudart.streamWaitEvent(stream.get(), transfer.started.get(), 0),
      "cudaStreamWaitEvent"));
  WEFT_RETURN_IF_ERROR(issuer.checkCapture(&transfer, stream.get()));
  WEFT_RETURN_IF_ERROR(issuer.markMessage(queue, stream.get()));
  WEFT_RETURN_IF_ERROR(move(transfer.parts));
  return cudaStatus(cudart,
                    cudart.eventRecord(transfer.done.get(), stream.get()),
                    "cudaEventRecord");
}

Status NcclChannel::start(DeviceTransfer &transfer) {
  return startOnStream(transfer).withContext(fmt::format(
      "role {} action {}: {} of message {} \"{}\" (micro-batch {}) on rank {}",
      transfer.role, transfer.action, isSender ? "send" : "receive",
      transfer.message, escaped(transfer.label), transfer.microbatch,
      worldRank));
}

} // namespace weft::runtime
