//===- InProcessCommunicator.cpp - A rank's end of a group of threads -----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InProcessCommunicator.h"

#include "CopyBlocks.h"
#include "Reduce.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>

namespace weft::runtime {

InProcessCommunicator::InProcessCommunicator(InProcessGroup &group, int rank)
    : Communicator(group.worldRanks(), rank), group(group),
      sources(group.size()), destinations(group.size()) {}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Bytes of outer * middle * inner * parts elements; nothing when that is
/// negative or too large.
static std::optional<int64_t> extentBytes(const CallShape &shape,
                                          int64_t parts) {
  if (parts < 0 || shape.outer < 0 || shape.middle < 0 || shape.inner < 0)
    return std::nullopt;
  int64_t bytes = static_cast<int64_t>(byteSize(shape.dtype));
  for (int64_t factor : {shape.outer, shape.middle, shape.inner, parts})
    if (__builtin_mul_overflow(bytes, factor, &bytes))
      return std::nullopt;
  return bytes;
}

static Status checkBuffer(const void *buffer, std::string_view which,
                          int64_t bytes, DType dtype) {
  if (bytes == 0)
    return {};
  if (!buffer)
    return invalidArgument(fmt::format("the {} is null", which));
  if (reinterpret_cast<uintptr_t>(buffer) % byteSize(dtype) != 0)
    return invalidArgument(fmt::format("the {} is not aligned to the {} bytes "
                                       "of {}",
                                       which, byteSize(dtype), name(dtype)));
  return {};
}

static bool overlap(const void *a, int64_t aBytes, const void *b,
                    int64_t bBytes) {
  const auto aBegin = reinterpret_cast<uintptr_t>(a);
  const auto bBegin = reinterpret_cast<uintptr_t>(b);
  return aBytes != 0 && bBytes != 0 && aBegin < bBegin + bBytes &&
         bBegin < aBegin + aBytes;
}

Status InProcessCommunicator::checkArguments(const Call &call,
                                             const Ends &ends) const {
  const CallShape &shape = call.shape;
  if (!isValid(shape.dtype))
    return invalidArgument(fmt::format("{} is not an element type",
                                       static_cast<int>(shape.dtype)));
  const auto sourceBytes = extentBytes(shape, ends.sourceParts);
  const auto destinationBytes = extentBytes(shape, ends.destinationParts);
  if (!sourceBytes || !destinationBytes)
    return invalidArgument(fmt::format(
        "the extents must not be negative and their product must fit in 63 "
        "bits, got outer {}, middle {}, inner {}",
        shape.outer, shape.middle, shape.inner));
  if (ends.readsSource)
    WEFT_RETURN_IF_ERROR(
        checkBuffer(call.source, "source", *sourceBytes, shape.dtype));
  if (ends.writesDestination)
    WEFT_RETURN_IF_ERROR(checkBuffer(call.destination, "destination",
                                     *destinationBytes, shape.dtype));
  const bool inPlace = ends.mayBeInPlace && call.source == call.destination;
  if (ends.readsSource && ends.writesDestination && !inPlace &&
      overlap(call.source, *sourceBytes, call.destination, *destinationBytes))
    return invalidArgument("the source and the destination overlap");
  return {};
}

Status InProcessCommunicator::reject(const Call &call, const Status &status) {
  if (status.ok())
    return status;
  return group.fail(status.withContext(
      describeCall(call.shape.operation, call.planStep, worldRank())));
}

static Status checkReduction(const CallShape &shape) {
  if (!isValid(shape.dtype) || reduceFunction(shape.dtype, shape.reduction))
    return {};
  if (shape.reduction > Reduction::Min)
    return invalidArgument(fmt::format("{} is not a reduction",
                                       static_cast<int>(shape.reduction)));
  return invalidArgument(fmt::format("the {} of {} is not supported; use max "
                                     "(or) or min (and)",
                                     name(shape.reduction), name(shape.dtype)));
}

static Status checkPeer(std::string_view what, int peer, int size) {
  if (peer >= 0 && peer < size)
    return {};
  return invalidArgument(fmt::format("the {} must be a rank of the group, 0 "
                                     "to {}, got {}",
                                     what, size - 1, peer));
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
bool InProcessCommunicator::isSmall(const Call &call, const Ends &ends) const {
  return *extentBytes(call.shape, ends.sourceParts) <=
         InProcessGroup::seatBytes;
}

template <typename Body>
Status InProcessCommunicator::run(const Call &call, const Ends &ends,
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
  const Ends ends{.mayBeInPlace = true};
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
    const int64_t bytes = inner * static_cast<int64_t>(byteSize(dtype));
    for (int i = 0; i < size(); ++i) {
      const int peer = (rank() + i) % size();
      copyBlocks(group.call(rank(), peer).source, at(destination, peer * bytes),
                 {.outer = outer,
                  .bytes = bytes,
                  .sourceOuterStride = bytes,
                  .destinationOuterStride = size() * bytes});
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
  return run(
      call, {.sourceParts = size(), .destinationParts = size()}, context, [&] {
        const int64_t block = inner * static_cast<int64_t>(byteSize(dtype));
        const int64_t run = middle * block;
        // [group, middle, inner] and [middle, group, inner]: distance of
        // neighbours along the group and along the middle.
        const int64_t groupFirst[] = {run, block};
        const int64_t middleFirst[] = {block, size() * block};
        const int64_t *from = splitFirst ? groupFirst : middleFirst;
        const int64_t *to = splitFirst ? middleFirst : groupFirst;
        for (int i = 0; i < size(); ++i) {
          const int peer = (rank() + i) % size();
          copyBlocks(at(group.call(rank(), peer).source, rank() * from[0]),
                     at(destination, peer * to[0]),
                     {.outer = outer,
                      .middle = middle,
                      .bytes = block,
                      .sourceOuterStride = size() * run,
                      .sourceMiddleStride = from[1],
                      .destinationOuterStride = size() * run,
                      .destinationMiddleStride = to[1]});
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

/// Whether what this rank gets lies where it is said to.
static Status checkBlocks(const Exchange &exchange, int rank, int size) {
  for (const ExchangeBlock &block : exchange.blocks) {
    if (block.receiver != rank)
      continue;
    WEFT_RETURN_IF_ERROR(checkPeer("sender of a block", block.sender, size));
    const int64_t last = block.source + (block.count - 1) * block.step;
    if (block.count < 1 || std::min(block.source, last) < 0 ||
        std::max(block.source, last) >= exchange.before ||
        block.destination < 0 ||
        block.destination > exchange.after - block.count)
      return invalidArgument(fmt::format(
          "a block of {} elements from {} by {} to {} is not in the {} "
          "elements before and {} after",
          block.count, block.source, block.step, block.destination,
          exchange.before, exchange.after));
  }
  return {};
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
  const Ends ends{.sourceParts = exchange.before,
                  .destinationParts = exchange.after};
  return run(call, ends, context, [&] {
    const int64_t unit = exchange.inner * static_cast<int64_t>(byteSize(dtype));
    for (const ExchangeBlock &block : exchange.blocks)
      if (block.receiver == rank())
        copyBlocks(
            at(group.call(rank(), block.sender).source, block.source * unit),
            at(destination, block.destination * unit),
            {.outer = exchange.outer,
             .middle = block.count,
             .bytes = unit,
             .sourceOuterStride = exchange.before * unit,
             .sourceMiddleStride = block.step * unit,
             .destinationOuterStride = exchange.after * unit,
             .destinationMiddleStride = unit});
  });
}

Status InProcessCommunicator::barrier(const CallContext &context) {
  const Call call = makeCall({.operation = Operation::Barrier, .inner = 0},
                             nullptr, nullptr, context);
  return run(call, {}, context, [] {});
}

//===----------------------------------------------------------------------===//
// Point to point
//===----------------------------------------------------------------------===//

static Status checkOtherPeer(int peer, int rank, int size) {
  WEFT_RETURN_IF_ERROR(checkPeer("peer", peer, size));
  if (peer == rank)
    return invalidArgument(fmt::format(
        "the peer must be another rank, got the rank itself, {}", peer));
  return {};
}

Status InProcessCommunicator::send(const void *buffer, int64_t count,
                                   DType dtype, int peer,
                                   const CallContext &context) {
  const Call call =
      makeCall({.operation = Operation::Send, .dtype = dtype, .inner = count},
               buffer, nullptr, context);
  WEFT_RETURN_IF_ERROR(reject(call, checkOtherPeer(peer, rank(), size())));
  WEFT_RETURN_IF_ERROR(
      reject(call, checkArguments(call, {.writesDestination = false})));
  return group.send(rank(), peer, call, context.timeout);
}

Status InProcessCommunicator::recv(void *buffer, int64_t count, DType dtype,
                                   int peer, const CallContext &context) {
  const Call call =
      makeCall({.operation = Operation::Recv, .dtype = dtype, .inner = count},
               nullptr, buffer, context);
  WEFT_RETURN_IF_ERROR(reject(call, checkOtherPeer(peer, rank(), size())));
  WEFT_RETURN_IF_ERROR(
      reject(call, checkArguments(call, {.readsSource = false})));
  return group.recv(rank(), peer, call, context.timeout);
}

} // namespace weft::runtime
