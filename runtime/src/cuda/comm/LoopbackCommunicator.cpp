//===- LoopbackCommunicator.cpp - A rank's end of a shared GPU --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/comm/LoopbackCommunicator.h"

namespace weft::runtime {

Status LoopbackGroup::createEvents(const Cudart &cudart) {
  for (int i = 0; i < hosts.size(); ++i)
    for (std::vector<EventOwner> *events : {&arrived, &done}) {
      WEFT_ASSIGN_OR_RETURN(EventOwner event, createEvent(cudart));
      events->push_back(std::move(event));
    }
  return {};
}

LoopbackCommunicator::LoopbackCommunicator(const Cudart &cudart,
                                           const BlockKernels &kernels,
                                           LoopbackGroup &group, int rank,
                                           std::chrono::nanoseconds deadline)
    : DeviceCommunicator(group.hosts.worldRanks(), rank), cudart(cudart),
      kernels(kernels), group(group), deadline(deadline),
      sources(group.hosts.size()) {}

static bool isInPlace(const DeviceCollective &collective) {
  return collective.source == collective.destination;
}

static size_t resultBytes(const DeviceCollective &collective) {
  return static_cast<size_t>(collective.outer * collective.inner) *
         byteSize(collective.dtype);
}

/// The others still read what a reduction in place would write over.
uint64_t
LoopbackCommunicator::stagingBytes(const DeviceCollective &collective) const {
  return isInPlace(collective) && size() > 1 ? resultBytes(collective) : 0;
}

Status LoopbackCommunicator::record(const std::vector<EventOwner> &events,
                                    cudaStream_t stream) {
  return cudaStatus(cudart, cudart.eventRecord(events[rank()].get(), stream),
                    "cudaEventRecord");
}

Status
LoopbackCommunicator::waitForOthers(const std::vector<EventOwner> &events,
                                    cudaStream_t stream) {
  for (int peer = 0; peer < size(); ++peer)
    if (peer != rank())
      WEFT_RETURN_IF_ERROR(cudaStatus(
          cudart, cudart.streamWaitEvent(stream, events[peer].get(), 0),
          "cudaStreamWaitEvent"));
  return {};
}

Status LoopbackCommunicator::copy(void *destination, const void *from,
                                  size_t bytes, cudaStream_t stream) {
  return cudaStatus(cudart,
                    cudart.memcpyAsync(destination, from, bytes,
                                       cudaMemcpyDeviceToDevice, stream),
                    "cudaMemcpyAsync");
}

Status LoopbackCommunicator::reduce(const DeviceCollective &collective,
                                    cudaStream_t stream) {
  const bool isScatter = collective.kind == plan::CollectiveKind::ReduceScatter;
  // The part of this rank: [outer, group index = rank, inner].
  const int64_t rows = isScatter ? collective.outer : 1;
  const int64_t columns =
      isScatter ? collective.inner : collective.outer * collective.inner;
  const size_t begin =
      isScatter ? rank() * columns * byteSize(collective.dtype) : 0;
  for (int peer = 0; peer < size(); ++peer)
    sources[peer] = source(peer) + begin;
  void *destination =
      isInPlace(collective) ? collective.staging : collective.destination;
  return kernels.reduce(
      {.dtype = collective.dtype,
       .reduction = collective.reduction,
       .destination = destination,
       .sources = sources,
       .rows = rows,
       .columns = columns,
       .sourceStride = isScatter ? columns * size() : columns},
      stream);
}

Status LoopbackCommunicator::gather(const DeviceCollective &collective,
                                    cudaStream_t stream) {
  const auto inner =
      static_cast<int64_t>(collective.inner * byteSize(collective.dtype));
  auto *destination = static_cast<std::byte *>(collective.destination);
  for (int peer = 0; peer < size(); ++peer)
    WEFT_RETURN_IF_ERROR(
        kernels.copy({.destination = destination + peer * inner,
                      .source = source(peer),
                      .extents = {1, 1, collective.outer},
                      .sourceStrides = {0, 0, inner},
                      .destinationStrides = {0, 0, inner * size()},
                      .inner = inner},
                     stream));
  return {};
}

/// Of every rank the blocks whose group index is this rank.
Status LoopbackCommunicator::allToAll(const DeviceCollective &collective,
                                      cudaStream_t stream) {
  const auto inner =
      static_cast<int64_t>(collective.inner * byteSize(collective.dtype));
  const int64_t middle = collective.middle, group = size();
  // Distances of neighbours along the group and along the middle, where the
  // group is the outer and where it is the inner one of the two.
  const int64_t asOuter[] = {middle * inner, inner};
  const int64_t asInner[] = {inner, group * inner};
  const auto &from = collective.splitFirst ? asOuter : asInner;
  const auto &to = collective.splitFirst ? asInner : asOuter;
  auto *destination = static_cast<std::byte *>(collective.destination);
  for (int peer = 0; peer < size(); ++peer)
    WEFT_RETURN_IF_ERROR(
        kernels.copy({.destination = destination + peer * to[0],
                      .source = source(peer) + rank() * from[0],
                      .extents = {1, collective.outer, middle},
                      .sourceStrides = {0, group * middle * inner, from[1]},
                      .destinationStrides = {0, group * middle * inner, to[1]},
                      .inner = inner},
                     stream));
  return {};
}

/// Of every rank what it gives this one.
Status LoopbackCommunicator::exchange(const DeviceCollective &collective,
                                      cudaStream_t stream) {
  const Exchange &exchange = collective.exchange;
  const auto unit =
      static_cast<int64_t>(exchange.inner * byteSize(collective.dtype));
  auto *destination = static_cast<std::byte *>(collective.destination);
  for (const ExchangeBlock &block : exchange.blocks)
    if (block.receiver == rank())
      WEFT_RETURN_IF_ERROR(kernels.copy(
          copyOf(block, exchange, unit, source(block.sender), destination),
          stream));
  return {};
}

Status LoopbackCommunicator::move(const DeviceCollective &collective,
                                  cudaStream_t stream) {
  switch (collective.kind) {
  case plan::CollectiveKind::AllReduce:
  case plan::CollectiveKind::ReduceScatter:
    return reduce(collective, stream);
  case plan::CollectiveKind::AllGather:
    return gather(collective, stream);
  case plan::CollectiveKind::AllToAll:
    return allToAll(collective, stream);
  case plan::CollectiveKind::Permute:
    return copy(collective.destination, source(collective.receiveFrom),
                collective.inner * byteSize(collective.dtype), stream);
  case plan::CollectiveKind::Exchange:
    return exchange(collective, stream);
  }
  return internalError("a collective of unknown kind");
}

static Operation operationOf(plan::CollectiveKind kind) {
  switch (kind) {
  case plan::CollectiveKind::AllReduce:
    return Operation::AllReduce;
  case plan::CollectiveKind::AllGather:
    return Operation::AllGather;
  case plan::CollectiveKind::ReduceScatter:
    return Operation::ReduceScatter;
  case plan::CollectiveKind::AllToAll:
    return Operation::AllToAll;
  case plan::CollectiveKind::Permute:
    return Operation::Permute;
  case plan::CollectiveKind::Exchange:
    return Operation::Exchange;
  }
  return Operation::Barrier;
}

static Call callOf(const DeviceCollective &collective) {
  Call call;
  call.shape = {.operation = operationOf(collective.kind),
                .dtype = collective.dtype,
                .reduction = collective.reduction,
                .splitFirst = collective.splitFirst,
                .outer = collective.outer,
                .middle = collective.middle,
                .inner = collective.inner};
  if (collective.kind == plan::CollectiveKind::Exchange) {
    call.shape.before = collective.exchange.before;
    call.shape.after = collective.exchange.after;
  }
  call.source = collective.source;
  call.destination = collective.destination;
  call.planStep = collective.instruction;
  call.cause = collective.cause;
  return call;
}

Status LoopbackCommunicator::enqueue(const DeviceCollective &collective,
                                     cudaStream_t stream) {
  const Call call = callOf(collective);
  const auto failed = [&](const Status &status) {
    return group.hosts.fail(status.withContext(
        describeCall(call.shape.operation, call.planStep, worldRank())));
  };
  if (size() == 1 && isInPlace(collective))
    return {};
  if (Status status = record(group.arrived, stream); !status.ok())
    return failed(status);
  WEFT_RETURN_IF_ERROR(group.hosts.meet(rank(), call, deadline));
  Status status = waitForOthers(group.arrived, stream);
  if (status.ok())
    status = move(collective, stream);
  if (status.ok())
    status = record(group.done, stream);
  group.hosts.leave(rank());
  if (status.ok())
    status = waitForOthers(group.done, stream);
  if (status.ok() && isInPlace(collective))
    status = copy(collective.destination, collective.staging,
                  resultBytes(collective), stream);
  return status.ok() ? status : failed(status);
}

} // namespace weft::runtime
