//===- Collectives.cpp - Operations of the fake NCCL ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectives.h"

#include "weft/runtime/DType.h"

#include <algorithm>
#include <cstring>

namespace fake_nccl {

using weft::runtime::BFloat16;
using weft::runtime::Float16;

size_t bytesOf(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt32:
  case ncclUint32:
  case ncclFloat32:
    return 4;
  default:
    return 8;
  }
}

namespace {

template <typename T> T combine(T a, T b, ncclRedOp_t reduction) {
  if (reduction == ncclMax)
    return std::max(a, b);
  if (reduction == ncclMin)
    return std::min(a, b);
  return a + b;
}
/// Rounded after every addition, as a ring of NCCL does.
BFloat16 combine(BFloat16 a, BFloat16 b, ncclRedOp_t reduction) {
  return weft::runtime::toBFloat16(
      combine(weft::runtime::toFloat(a), weft::runtime::toFloat(b), reduction));
}
Float16 combine(Float16 a, Float16 b, ncclRedOp_t reduction) {
  return weft::runtime::toFloat16(
      combine(weft::runtime::toFloat(a), weft::runtime::toFloat(b), reduction));
}

template <typename T>
void reduceAs(std::byte *result, const std::byte *next, size_t count,
              ncclRedOp_t reduction) {
  for (size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, result + i * sizeof(T), sizeof(T));
    std::memcpy(&b, next + i * sizeof(T), sizeof(T));
    a = combine(a, b, reduction);
    std::memcpy(result + i * sizeof(T), &a, sizeof(T));
  }
}

void reduce(std::byte *result, const std::byte *next, size_t count,
            ncclDataType_t type, ncclRedOp_t reduction) {
  switch (type) {
  case ncclInt8:
    return reduceAs<int8_t>(result, next, count, reduction);
  case ncclUint8:
    return reduceAs<uint8_t>(result, next, count, reduction);
  case ncclInt32:
    return reduceAs<int32_t>(result, next, count, reduction);
  case ncclInt64:
    return reduceAs<int64_t>(result, next, count, reduction);
  case ncclFloat32:
    return reduceAs<float>(result, next, count, reduction);
  case ncclFloat64:
    return reduceAs<double>(result, next, count, reduction);
  case ncclFloat16:
    return reduceAs<Float16>(result, next, count, reduction);
  case ncclBfloat16:
    return reduceAs<BFloat16>(result, next, count, reduction);
  default:
    return;
  }
}

struct Part {
  const void *memory;
  size_t bytes;
};

bool overlap(const Part &a, const Part &b) {
  const auto *first = static_cast<const std::byte *>(a.memory);
  const auto *second = static_cast<const std::byte *>(b.memory);
  return first < second + b.bytes && second < first + a.bytes;
}

size_t partBytes(const Operation &operation) {
  return operation.count * bytesOf(operation.type);
}

/// What this rank gives to the others, one after the other in its slot.
std::vector<Part> given(const Operation &operation, int rank, int size) {
  std::vector<Part> parts;
  for (const Transfer &transfer : operation.transfers)
    if (transfer.isSend)
      parts.push_back({transfer.memory, transfer.bytes});
  if (operation.kind == Kind::ReduceScatter)
    parts.push_back(
        {operation.source, partBytes(operation) * static_cast<size_t>(size)});
  else if (operation.kind != Kind::Exchange &&
           (operation.kind != Kind::Broadcast || rank == operation.root))
    parts.push_back({operation.source, partBytes(operation)});
  return parts;
}

/// What this rank writes.
std::vector<Part> received(const Operation &operation, int size) {
  std::vector<Part> parts;
  for (const Transfer &transfer : operation.transfers)
    if (!transfer.isSend)
      parts.push_back({transfer.memory, transfer.bytes});
  if (operation.kind == Kind::AllGather)
    parts.push_back({operation.destination,
                     partBytes(operation) * static_cast<size_t>(size)});
  else if (operation.kind != Kind::Exchange)
    parts.push_back({operation.destination, partBytes(operation)});
  return parts;
}

void announce(const Operation &operation, Announcement &announcement) {
  announcement = {static_cast<uint64_t>(operation.kind),
                  operation.count,
                  static_cast<uint64_t>(operation.type),
                  static_cast<uint64_t>(operation.reduction),
                  {}};
  // Where what goes to each rank begins, and its size, which receivers check.
  size_t offset = 0;
  for (const Transfer &transfer : operation.transfers)
    if (transfer.isSend) {
      uint64_t &sent = announcement.offsets[transfer.peer];
      sent = (sent ? sent : offset << 32) + transfer.bytes;
      offset += transfer.bytes;
    }
}

/// Where nothing that is given lies: an operation in place reads it.
void spoil(const std::vector<Part> &parts, const std::vector<Part> &sources) {
  for (const Part &part : parts)
    if (std::ranges::none_of(
            sources, [&](const Part &source) { return overlap(part, source); }))
      std::memset(const_cast<void *>(part.memory), 0xff, part.bytes); // NaN
}

std::string take(const Operation &operation, Meeting &meeting, int rank,
                 int size) {
  auto *result = static_cast<std::byte *>(operation.destination);
  const size_t part = partBytes(operation);
  if (operation.kind == Kind::Exchange) {
    // Bytes taken from each peer: what it sends, in its order.
    std::vector<uint64_t> taken(static_cast<size_t>(size));
    for (const Transfer &transfer : operation.transfers) {
      if (transfer.isSend)
        continue;
      const uint64_t sent = meeting.announcement(transfer.peer).offsets[rank];
      uint64_t &before = taken[static_cast<size_t>(transfer.peer)];
      if (before + transfer.bytes > (sent & 0xffffffff))
        return "a rank receives another number of bytes than its peer sends";
      std::memcpy(transfer.memory,
                  meeting.slot(transfer.peer) + (sent >> 32) + before,
                  transfer.bytes);
      before += transfer.bytes;
    }
    for (int r = 0; r < size; ++r)
      if (taken[static_cast<size_t>(r)] !=
          (meeting.announcement(r).offsets[rank] & 0xffffffff))
        return "a rank receives another number of bytes than its peer sends";
    return "";
  }
  for (int r = 0; r < size; ++r)
    if (!(meeting.announcement(r) == meeting.announcement(rank)))
      return "the ranks call different operations, or with different counts";
  switch (operation.kind) {
  case Kind::AllGather:
    for (int r = 0; r < size; ++r)
      std::memcpy(result + r * part, meeting.slot(r), part);
    break;
  case Kind::Broadcast:
    std::memcpy(result, meeting.slot(operation.root), part);
    break;
  default: {
    const size_t begin =
        operation.kind == Kind::ReduceScatter ? rank * part : 0;
    std::memcpy(result, meeting.slot(0) + begin, part);
    for (int r = 1; r < size; ++r)
      reduce(result, meeting.slot(r) + begin, operation.count, operation.type,
             operation.reduction);
  }
  }
  return "";
}

} // namespace

bool isPlaced(const Operation &operation, int rank, int size) {
  const size_t part = partBytes(operation);
  const size_t whole = part * static_cast<size_t>(size);
  const auto *source = static_cast<const std::byte *>(operation.source);
  const auto *destination =
      static_cast<const std::byte *>(operation.destination);
  switch (operation.kind) {
  case Kind::AllGather:
    return source == destination + rank * part ||
           !overlap({source, part}, {destination, whole});
  case Kind::ReduceScatter:
    return destination == source + rank * part ||
           !overlap({source, whole}, {destination, part});
  default:
    return source == destination ||
           !overlap({source, part}, {destination, part});
  }
}

bool begin(const Operation &operation, Meeting &meeting, int rank, int size,
           const std::atomic<bool> &stop, std::string &problem) {
  if (!meeting.await(stop))
    return false;
  const std::vector<Part> sources = given(operation, rank, size);
  std::byte *slot = meeting.slot(rank);
  const std::byte *const slotEnd = slot + Meeting::slotBytes;
  for (const Part &part : sources) {
    if (part.bytes > static_cast<size_t>(slotEnd - slot)) {
      problem = "an operation is larger than a slot of the fake library";
      return false;
    }
    std::memcpy(slot, part.memory, part.bytes);
    slot += part.bytes;
  }
  announce(operation, meeting.announcement(rank));
  spoil(received(operation, size), sources);
  meeting.arrive();
  return true;
}

bool end(const Operation &operation, Meeting &meeting, int rank, int size,
         const std::atomic<bool> &stop, std::string &problem) {
  if (!meeting.await(stop))
    return false;
  const std::byte *slot = meeting.slot(rank);
  for (const Part &part : given(operation, rank, size)) {
    if (std::memcmp(slot, part.memory, part.bytes) != 0)
      problem = "what an operation reads has changed before its end";
    slot += part.bytes;
  }
  if (problem.empty())
    problem = take(operation, meeting, rank, size);
  meeting.arrive();
  return problem.empty();
}

} // namespace fake_nccl
