//===- NcclCommunicator.cpp - Collectives by NCCL ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/nccl/NcclCommunicator.h"

#include "comm/Call.h"
#include "plan/Text.h"

namespace weft::runtime {

ncclDataType_t ncclTypeOf(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return ncclFloat32;
  case DType::BF16:
    return ncclBfloat16;
  case DType::I32:
    return ncclInt32;
  case DType::I64:
    return ncclInt64;
  case DType::Pred:
    return ncclUint8;
  case DType::F64:
    return ncclFloat64;
  case DType::F16:
    return ncclFloat16;
  case DType::I8:
    return ncclInt8;
  case DType::I16: // NCCL has none; plans send it and reduce it as I32
    return ncclFloat16;
  }
  return ncclNumTypes;
}

ncclRedOp_t ncclReductionOf(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return ncclSum;
  case Reduction::Max:
    return ncclMax;
  case Reduction::Min:
    return ncclMin;
  }
  return ncclNumOps;
}

/// Bytes of one [outer, middle, inner], the part of one rank.
static uint64_t partBytes(const DeviceCollective &collective) {
  return static_cast<uint64_t>(collective.outer * collective.middle *
                               collective.inner) *
         byteSize(collective.dtype);
}

/// Whether the parts of an AllToAll lie in the order of the ranks, in the
/// source or, as `isSource` says, in the destination.
static bool isByRank(const DeviceCollective &collective, bool isSource) {
  const bool groupFirst = collective.splitFirst == isSource;
  return collective.outer * (groupFirst ? 1 : collective.middle) == 1;
}

/// [outer, group, middle, inner] <-> [group, outer, middle, inner], or with the
/// group inside of the middle.
static BlockCopy regrouped(const DeviceCollective &collective, int64_t group,
                           bool groupFirst, bool toRanks, void *destination,
                           const void *source) {
  const auto inner =
      collective.inner * static_cast<int64_t>(byteSize(collective.dtype));
  const int64_t outer = collective.outer, middle = collective.middle;
  BlockCopy copy{};
  copy.destination = destination;
  copy.source = source;
  copy.inner = inner;
  const int64_t extents[3] = {outer, group, middle};
  const int64_t inLayout[3] = {group * middle * inner,
                               groupFirst ? middle * inner : inner,
                               groupFirst ? inner : group * inner};
  const int64_t byRank[3] = {middle * inner, outer * middle * inner, inner};
  for (int i = 0; i < 3; ++i) {
    copy.extents[i] = extents[i];
    copy.sourceStrides[i] = toRanks ? inLayout[i] : byRank[i];
    copy.destinationStrides[i] = toRanks ? byRank[i] : inLayout[i];
  }
  return copy;
}

/// Elements of a block of an exchange.
static size_t blockCount(const DeviceCollective &collective,
                         const ExchangeBlock &block) {
  const Exchange &exchange = collective.exchange;
  return static_cast<size_t>(exchange.outer * block.count * exchange.inner);
}

/// Calls `visit` with each block that this rank gives to another or gets from
/// one, and with its offset in staging memory, or -1 where it lies in one piece
/// in the buffer. Returns the bytes of staging memory.
template <typename Visit>
static Result<int64_t> forEachSent(const DeviceCollective &collective, int rank,
                                   Visit &&visit) {
  int64_t staged = 0;
  for (const ExchangeBlock &block : collective.exchange.blocks) {
    if (block.sender == block.receiver)
      continue;
    const bool isInPlace = collective.exchange.outer == 1 &&
                           (block.receiver == rank || block.step == 1);
    WEFT_RETURN_IF_ERROR(visit(block, isInPlace ? -1 : staged));
    if (!isInPlace)
      staged += static_cast<int64_t>(blockCount(collective, block) *
                                     byteSize(collective.dtype));
  }
  return staged;
}

uint64_t
NcclCommunicator::stagingBytes(const DeviceCollective &collective) const {
  if (size() == 1)
    return 0;
  const uint64_t whole = partBytes(collective) * static_cast<uint64_t>(size());
  switch (collective.kind) {
  case plan::CollectiveKind::AllGather:
  case plan::CollectiveKind::ReduceScatter:
    return collective.outer == 1 ? 0 : whole;
  case plan::CollectiveKind::AllToAll:
    return whole * (!isByRank(collective, /*isSource=*/true) +
                    !isByRank(collective, /*isSource=*/false));
  case plan::CollectiveKind::Exchange:
    return static_cast<uint64_t>(
        forEachSent(collective, rank(), [](const ExchangeBlock &, int64_t) {
          return Status();
        }).value());
  default:
    return 0;
  }
}

Status NcclCommunicator::copy(void *destination, const void *source,
                              size_t bytes, cudaStream_t stream) {
  if (bytes == 0 || destination == source)
    return {};
  return cudaStatus(issuer.cudart,
                    issuer.cudart.memcpyAsync(destination, source, bytes,
                                              cudaMemcpyDeviceToDevice, stream),
                    "cudaMemcpyAsync");
}

Status NcclCommunicator::allReduce(const DeviceCollective &collective,
                                   cudaStream_t stream) {
  return issuer.call("ncclAllReduce", handle, [&] {
    return issuer.nccl.allReduce(
        collective.source, collective.destination,
        static_cast<size_t>(collective.outer * collective.inner),
        ncclTypeOf(collective.dtype), ncclReductionOf(collective.reduction),
        handle, stream);
  });
}

Status NcclCommunicator::allGather(const DeviceCollective &collective,
                                   cudaStream_t stream) {
  void *gathered =
      collective.outer == 1 ? collective.destination : collective.staging;
  WEFT_RETURN_IF_ERROR(issuer.call("ncclAllGather", handle, [&] {
    return issuer.nccl.allGather(
        collective.source, gathered,
        static_cast<size_t>(collective.outer * collective.inner),
        ncclTypeOf(collective.dtype), handle, stream);
  }));
  if (collective.outer == 1)
    return {};
  return issuer.blocks->copy(regrouped(collective, size(), /*groupFirst=*/true,
                                       /*toRanks=*/false,
                                       collective.destination, gathered),
                             stream);
}

Status NcclCommunicator::reduceScatter(const DeviceCollective &collective,
                                       cudaStream_t stream) {
  const void *grouped = collective.source;
  if (collective.outer != 1) {
    WEFT_RETURN_IF_ERROR(issuer.blocks->copy(
        regrouped(collective, size(), /*groupFirst=*/true, /*toRanks=*/true,
                  collective.staging, collective.source),
        stream));
    grouped = collective.staging;
  }
  return issuer.call("ncclReduceScatter", handle, [&] {
    return issuer.nccl.reduceScatter(
        grouped, collective.destination,
        static_cast<size_t>(collective.outer * collective.inner),
        ncclTypeOf(collective.dtype), ncclReductionOf(collective.reduction),
        handle, stream);
  });
}

Status NcclCommunicator::allToAll(const DeviceCollective &collective,
                                  cudaStream_t stream) {
  const uint64_t bytes = partBytes(collective);
  const auto count = static_cast<size_t>(collective.outer * collective.middle *
                                         collective.inner);
  auto *staging = static_cast<std::byte *>(collective.staging);
  auto *from = static_cast<const std::byte *>(collective.source);
  auto *to = static_cast<std::byte *>(collective.destination);
  if (!isByRank(collective, /*isSource=*/true)) {
    WEFT_RETURN_IF_ERROR(
        issuer.blocks->copy(regrouped(collective, size(), collective.splitFirst,
                                      /*toRanks=*/true, staging, from),
                            stream));
    from = staging;
    staging += bytes * static_cast<uint64_t>(size());
  }
  const bool isDirect = isByRank(collective, /*isSource=*/false);
  if (!isDirect)
    to = staging;
  WEFT_RETURN_IF_ERROR(issuer.group(handle, [&]() -> Status {
    for (int peer = 0; peer < size(); ++peer) {
      WEFT_RETURN_IF_ERROR(issuer.call("ncclSend", handle, [&] {
        return issuer.nccl.send(from + bytes * peer, count,
                                ncclTypeOf(collective.dtype), peer, handle,
                                stream);
      }));
      WEFT_RETURN_IF_ERROR(issuer.call("ncclRecv", handle, [&] {
        return issuer.nccl.recv(to + bytes * peer, count,
                                ncclTypeOf(collective.dtype), peer, handle,
                                stream);
      }));
    }
    return {};
  }));
  if (isDirect)
    return {};
  return issuer.blocks->copy(
      regrouped(collective, size(), !collective.splitFirst, /*toRanks=*/false,
                collective.destination, to),
      stream);
}

Status NcclCommunicator::permute(const DeviceCollective &collective,
                                 cudaStream_t stream) {
  const auto count = static_cast<size_t>(collective.inner);
  const ncclDataType_t type = ncclTypeOf(collective.dtype);
  // Also to itself: all ranks call the same operations (rule N1).
  return issuer.group(handle, [&]() -> Status {
    WEFT_RETURN_IF_ERROR(issuer.call("ncclSend", handle, [&] {
      return issuer.nccl.send(collective.source, count, type, collective.sendTo,
                              handle, stream);
    }));
    return issuer.call("ncclRecv", handle, [&] {
      return issuer.nccl.recv(collective.destination, count, type,
                              collective.receiveFrom, handle, stream);
    });
  });
}

/// What stays is copied. What goes to others is brought together where it does
/// not lie in one piece, sent, and put in its place.
Status NcclCommunicator::exchange(const DeviceCollective &collective,
                                  cudaStream_t stream) {
  const Exchange &exchange = collective.exchange;
  const ncclDataType_t type = ncclTypeOf(collective.dtype);
  const auto unit =
      exchange.inner * static_cast<int64_t>(byteSize(collective.dtype));
  auto *source = static_cast<const std::byte *>(collective.source);
  auto *destination = static_cast<std::byte *>(collective.destination);
  auto *staging = static_cast<std::byte *>(collective.staging);
  // A block in staging memory is an exchange of its own, from 0 to 0.
  const auto move = [&](ExchangeBlock block, bool pack, int64_t offset) {
    BlockCopy copy = copyOf(block, exchange, unit, source, destination);
    const int64_t row = block.count * unit;
    (pack ? copy.destinationStrides : copy.sourceStrides)[1] = row;
    (pack ? copy.destinationStrides : copy.sourceStrides)[2] = unit;
    if (pack)
      copy.destination = staging + offset;
    else
      copy.source = staging + offset;
    return issuer.blocks->copy(copy, stream);
  };
  for (const ExchangeBlock &block : exchange.blocks)
    if (block.sender == block.receiver)
      WEFT_RETURN_IF_ERROR(issuer.blocks->copy(
          copyOf(block, exchange, unit, source, destination), stream));
  if (size() == 1)
    return {};
  const auto pack = [&](const ExchangeBlock &block, int64_t offset) {
    return block.sender == rank() && offset >= 0
               ? move(block, /*pack=*/true, offset)
               : Status();
  };
  const auto send = [&](const ExchangeBlock &block, int64_t offset) {
    const size_t count = blockCount(collective, block);
    if (block.sender == rank())
      return issuer.call("ncclSend", handle, [&] {
        return issuer.nccl.send(offset >= 0 ? staging + offset
                                            : source + block.source * unit,
                                count, type, block.receiver, handle, stream);
      });
    return issuer.call("ncclRecv", handle, [&] {
      return issuer.nccl.recv(offset >= 0
                                  ? staging + offset
                                  : destination + block.destination * unit,
                              count, type, block.sender, handle, stream);
    });
  };
  const auto unpack = [&](const ExchangeBlock &block, int64_t offset) {
    return block.receiver == rank() && offset >= 0
               ? move(block, /*pack=*/false, offset)
               : Status();
  };
  WEFT_RETURN_IF_ERROR(forEachSent(collective, rank(), pack).status());
  WEFT_RETURN_IF_ERROR(issuer.group(
      handle, [&] { return forEachSent(collective, rank(), send).status(); }));
  return forEachSent(collective, rank(), unpack).status();
}

Status NcclCommunicator::dispatch(const DeviceCollective &collective,
                                  cudaStream_t stream) {
  if (size() == 1 && collective.kind != plan::CollectiveKind::Exchange)
    return copy(collective.destination, collective.source,
                partBytes(collective), stream);
  switch (collective.kind) {
  case plan::CollectiveKind::AllReduce:
    return allReduce(collective, stream);
  case plan::CollectiveKind::AllGather:
    return allGather(collective, stream);
  case plan::CollectiveKind::ReduceScatter:
    return reduceScatter(collective, stream);
  case plan::CollectiveKind::AllToAll:
    return allToAll(collective, stream);
  case plan::CollectiveKind::Permute:
    return permute(collective, stream);
  case plan::CollectiveKind::Exchange:
    return exchange(collective, stream);
  }
  return internalError("a collective of unknown kind");
}

Status NcclCommunicator::enqueue(const DeviceCollective &collective,
                                 cudaStream_t stream) {
  WEFT_RETURN_IF_ERROR(issuer.check());
  onEnqueue(collective.instruction);
  Status status = issuer.checkCapture(&collective, stream);
  if (status.ok())
    status = issuer.mark(collective.queue, stream);
  if (status.ok())
    status = dispatch(collective, stream);
  if (status.ok())
    return status;
  return Status(status.code(),
                fmt::format("step {} {} on rank {}: {}{}",
                            collective.instruction,
                            collectiveName(collective.kind), worldRank(),
                            status.message(), describeCause(collective.cause)));
}

} // namespace weft::runtime
