//===- InProcessCommunicator.cpp - A rank's end of a group of threads -----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InProcessCommunicator.h"

#include "Moves.h"
#include "Reduce.h"

#include <algorithm>
#include <cstring>

namespace weft::runtime {

InProcessCommunicator::InProcessCommunicator(InProcessGroup &group, int rank)
    : Communicator(group.worldRanks(), rank), group(group),
      sources(group.size()), destinations(group.size()) {}

Status InProcessCommunicator::reject(const Call &call, const Status &status) {
  if (status.ok())
    return status;
  return group.fail(status.withContext(
      describeCall(call.shape.operation, call.planStep, worldRank())));
}

//===----------------------------------------------------------------------===//
// The frame of a collective
//===----------------------------------------------------------------------===//

static const char *at(const void *base, int64_t bytes) {
  return static_cast<const char *>(base) + bytes;
}
static char *at(void *base, int64_t bytes) {
  return static_cast<char *>(base) + bytes;
}

static void copyBytes(const void *source, void *destination, int64_t bytes) {
  if (bytes != 0 && source != destination)
    std::memcpy(destination, source, bytes);
}

/// Whether the peers read what this rank gives from its seat, so that nobody
/// waits for them to have done so. All ranks come to the same answer.
bool InProcessCommunicator::isSmall(const Call &call,
                                    const CallEnds &ends) const {
  return *extentBytes(call.shape, ends.sourceParts) <=
         InProcessGroup::seatBytes;
}

template <typename Body>
Status InProcessCommunicator::run(const Call &call, const CallEnds &ends,
                                  const CallContext &context, Body &&body) {
  WEFT_RETURN_IF_ERROR(reject(call, checkArguments(call, ends)));
  if (!isSmall(call, ends)) {
    WEFT_RETURN_IF_ERROR(group.meet(rank(), call, context.timeout));
    body();
    group.leave(rank());
    return {};
  }
  Call published = call;
  published.source = group.seatMemory(rank());
  copyBytes(call.source, group.seatMemory(rank()),
            *extentBytes(call.shape, ends.sourceParts));
  WEFT_RETURN_IF_ERROR(group.meet(rank(), published, context.timeout));
  body();
  group.leaveEarly();
  return {};
}

static Call makeCall(CallShape shape, const void *source, void *destination,
                     const CallContext &context) {
  return {.shape = shape,
          .source = source,
          .destination = destination,
          .planStep = context.planStep,
          .cause = context.cause};
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void InProcessCommunicator::reduceSeats(const Call &call) {
  for (int peer = 0; peer < size(); ++peer)
    sources[peer] = group.call(rank(), peer).source;
  destinations[0] = call.destination;
  reduceFunction(call.shape.dtype, call.shape.reduction)(
      {.sources = sources,
       .destinations = std::span(destinations).first(1),
       .columns = call.shape.inner,
       .sourceStride = call.shape.inner});
}

void InProcessCommunicator::reduceChunk(const Call &call) {
  // Chunks are whole cache lines, so that no two ranks write to one.
  const int64_t elementBytes = static_cast<int64_t>(byteSize(call.shape.dtype));
  const int64_t line = 64 / elementBytes;
  const int64_t share = (call.shape.inner + size() - 1) / size();
  const int64_t chunk = (share + line - 1) / line * line;
  const int64_t begin = std::min(rank() * chunk, call.shape.inner);
  const int64_t end = std::min(begin + chunk, call.shape.inner);
  if (begin == end)
    return;
  for (int peer = 0; peer < size(); ++peer) {
    const Call &theirs = group.call(rank(), peer);
    sources[peer] = at(theirs.source, begin * elementBytes);
    destinations[peer] = at(theirs.destination, begin * elementBytes);
  }
  reduceFunction(call.shape.dtype,
                 call.shape.reduction)({.sources = sources,
                                        .destinations = destinations,
                                        .columns = end - begin,
                                        .sourceStride = end - begin});
}

Status InProcessCommunicator::allReduce(const void *source, void *destination,
                                        int64_t count, DType dtype,
                                        Reduction reduction,
                                        const CallContext &context) {
  const Call call = makeCall({.operation = Operation::AllReduce,
                              .dtype = dtype,
                              .reduction = reduction,
                              .inner = count},
                             source, destination, context);
  WEFT_RETURN_IF_ERROR(reject(call, checkReduction(call.shape)));
  const CallEnds ends{.mayBeInPlace = true};
  const bool isFromSeats = isSmall(call, ends);
  return run(call, ends, context,
             [&] { isFromSeats ? reduceSeats(call) : reduceChunk(call); });
}

Status InProcessCommunicator::reduceScatter(const void *source,
                                            void *destination, int64_t outer,
                                            int64_t inner, DType dtype,
                                            Reduction reduction,
                                            const CallContext &context) {
  const Call call = makeCall({.operation = Operation::ReduceScatter,
                              .dtype = dtype,
                              .reduction = reduction,
                              .outer = outer,
                              .inner = inner},
                             source, destination, context);
  WEFT_RETURN_IF_ERROR(reject(call, checkReduction(call.shape)));
  return run(call, {.sourceParts = size()}, context, [&] {
    const int64_t offset =
        rank() * inner * static_cast<int64_t>(byteSize(dtype));
    for (int peer = 0; peer < size(); ++peer)
      sources[peer] = at(group.call(rank(), peer).source, offset);
    destinations[0] = destination;
    reduceFunction(dtype,
                   reduction)({.sources = sources,
                               .destinations = std::span(destinations).first(1),
                               .rows = outer,
                               .columns = inner,
                               .sourceStride = size() * inner});
  });
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

// Each rank starts with its own part and goes round, so that the ranks do not
// all read from the same one.

Status InProcessCommunicator::allGather(const void *source, void *destination,
                                        int64_t outer, int64_t inner,
                                        DType dtype,
                                        const CallContext &context) {
  const Call call = makeCall({.operation = Operation::AllGather,
                              .dtype = dtype,
                              .outer = outer,
                              .inner = inner},
                             source, destination, context);
  return run(call, {.destinationParts = size()}, context, [&] {
    for (int i = 0; i < size(); ++i) {
      const int peer = (rank() + i) % size();
      moveBlocks(group.call(rank(), peer).source, destination,
                 gatherMove(call.shape, size(), peer));
    }
  });
}

Status InProcessCommunicator::allToAll(const void *source, void *destination,
                                       int64_t outer, int64_t middle,
                                       int64_t inner, bool splitFirst,
                                       DType dtype,
                                       const CallContext &context) {
  const Call call = makeCall({.operation = Operation::AllToAll,
                              .dtype = dtype,
                              .splitFirst = splitFirst,
                              .outer = outer,
                              .middle = middle,
                              .inner = inner},
                             source, destination, context);
  const CallEnds ends{.sourceParts = size(), .destinationParts = size()};
  return run(call, ends, context, [&] {
    for (int i = 0; i < size(); ++i) {
      const int peer = (rank() + i) % size();
      moveBlocks(group.call(rank(), peer).source, destination,
                 allToAllMove(call.shape, size(), peer, rank()));
    }
  });
}

Status InProcessCommunicator::permute(const void *source, void *destination,
                                      int64_t count, DType dtype,
                                      int receiveFrom,
                                      const CallContext &context) {
  const Call call = makeCall(
      {.operation = Operation::Permute, .dtype = dtype, .inner = count}, source,
      destination, context);
  WEFT_RETURN_IF_ERROR(
      reject(call, checkPeer("rank to receive from", receiveFrom, size())));
  return run(call, {}, context, [&] {
    copyBytes(group.call(rank(), receiveFrom).source, destination,
              count * static_cast<int64_t>(byteSize(dtype)));
  });
}

Status InProcessCommunicator::exchange(const void *source, void *destination,
                                       const Exchange &exchange, DType dtype,
                                       const CallContext &context) {
  const Call call = makeCall({.operation = Operation::Exchange,
                              .dtype = dtype,
                              .outer = exchange.outer,
                              .inner = exchange.inner,
                              .before = exchange.before,
                              .after = exchange.after},
                             source, destination, context);
  WEFT_RETURN_IF_ERROR(reject(call, checkBlocks(exchange, rank(), size())));
  const CallEnds ends{.sourceParts = exchange.before,
                      .destinationParts = exchange.after};
  return run(call, ends, context, [&] {
    for (const ExchangeBlock &block : exchange.blocks)
      if (block.receiver == rank())
        moveBlocks(group.call(rank(), block.sender).source, destination,
                   exchangeMove(call.shape, block));
  });
}

Status InProcessCommunicator::barrier(const CallContext &context) {
  const Call call = makeCall({.operation = Operation::Barrier, .inner = 0},
                             nullptr, nullptr, context);
  return run(call, {}, context, [] {});
}

} // namespace weft::runtime
