//===- CheckCall.cpp - What is wrong with a call by itself ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckCall.h"

#include "Reduce.h"

#include <algorithm>
#include <fmt/format.h>

namespace weft::runtime {

std::optional<int64_t> extentBytes(const CallShape &shape, int64_t parts) {
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

Status checkArguments(const Call &call, const CallEnds &ends) {
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

Status checkReduction(const CallShape &shape) {
  if (!isValid(shape.dtype) || reduceFunction(shape.dtype, shape.reduction))
    return {};
  if (shape.reduction > Reduction::Min)
    return invalidArgument(fmt::format("{} is not a reduction",
                                       static_cast<int>(shape.reduction)));
  return invalidArgument(fmt::format("the {} of {} is not supported; use max "
                                     "(or) or min (and)",
                                     name(shape.reduction), name(shape.dtype)));
}

Status checkPeer(std::string_view what, int peer, int size) {
  if (peer >= 0 && peer < size)
    return {};
  return invalidArgument(fmt::format("the {} must be a rank of the group, 0 "
                                     "to {}, got {}",
                                     what, size - 1, peer));
}

Status checkBlocks(const Exchange &exchange, int rank, int size) {
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

} // namespace weft::runtime
