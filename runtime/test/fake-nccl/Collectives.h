//===- Collectives.h - Operations of the fake NCCL --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_FAKENCCL_COLLECTIVES_H
#define WEFT_RUNTIME_TEST_FAKENCCL_COLLECTIVES_H

#include "Meeting.h"

#include <nccl.h>

#include <vector>

namespace fake_nccl {

enum class Kind : uint64_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  Broadcast,
  Exchange
};

/// One send or receive of a group.
struct Transfer {
  bool isSend;
  void *memory;
  size_t bytes;
  int peer;
};

struct Operation {
  Kind kind = Kind::AllReduce;
  const void *source = nullptr;
  void *destination = nullptr;
  /// Of the part of one rank.
  size_t count = 0;
  ncclDataType_t type = ncclUint8;
  ncclRedOp_t reduction = ncclSum;
  int root = 0;
  std::vector<Transfer> transfers = {};
};

size_t bytesOf(ncclDataType_t type);

/// Carries out this rank's part. False when `stop` was set, or with a text when
/// the ranks' operations do not fit each other.
bool carryOut(const Operation &operation, Meeting &meeting, int rank, int size,
              const std::atomic<bool> &stop, std::string &problem);

} // namespace fake_nccl

#endif // WEFT_RUNTIME_TEST_FAKENCCL_COLLECTIVES_H
