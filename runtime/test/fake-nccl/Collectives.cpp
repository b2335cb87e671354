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

/// What this rank gives to the others.
size_t publish(const Operation &operation, Meeting &meeting, int rank,
               int size) {
  std::byte *slot = meeting.slot(rank);
  Announcement &announcement = meeting.announcement(rank);
  announcement = {static_cast<uint64_t>(operation.kind),
                  operation.count,
                  static_cast<uint64_t>(operation.type),
                  static_cast<uint64_t>(operation.reduction),
                  {}};
  size_t bytes = operation.count * bytesOf(operation.type);
  if (operation.kind == Kind::Exchange) {
    // The sums of what goes to each rank, so that receivers can check them.
    bytes = 0;
    for (const Transfer &transfer : operation.transfers)
      if (transfer.isSend) {
        if (bytes + transfer.bytes <= Meeting::slotBytes)
          std::memcpy(slot + bytes, transfer.memory, transfer.bytes);
        announcement.offsets[transfer.peer] = bytes << 32 | transfer.bytes;
        bytes += transfer.bytes;
      }
    return bytes;
  }
  if (operation.kind == Kind::ReduceScatter)
    bytes *= static_cast<size_t>(size);
  if (operation.kind == Kind::Broadcast && rank != operation.root)
    return bytes;
  if (bytes <= Meeting::slotBytes)
    std::memcpy(slot, operation.source, bytes);
  return bytes;
}

std::string take(const Operation &operation, Meeting &meeting, int rank,
                 int size) {
  auto *result = static_cast<std::byte *>(operation.destination);
  const size_t part = operation.count * bytesOf(operation.type);
  if (operation.kind == Kind::Exchange) {
    for (const Transfer &transfer : operation.transfers) {
      if (transfer.isSend)
        continue;
      const uint64_t sent = meeting.announcement(transfer.peer).offsets[rank];
      if ((sent & 0xffffffff) != transfer.bytes)
        return "a rank receives another number of bytes than its peer sends";
      std::memcpy(transfer.memory, meeting.slot(transfer.peer) + (sent >> 32),
                  transfer.bytes);
    }
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

bool carryOut(const Operation &operation, Meeting &meeting, int rank, int size,
              const std::atomic<bool> &stop, std::string &problem) {
  if (publish(operation, meeting, rank, size) > Meeting::slotBytes)
    problem = "an operation is larger than a slot of the fake library";
  if (!meeting.meet(stop))
    return false;
  if (problem.empty())
    problem = take(operation, meeting, rank, size);
  return meeting.meet(stop) && problem.empty();
}

} // namespace fake_nccl
