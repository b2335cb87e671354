//===- Collectives.h - Operations of the fake NCCL --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_NCCL_COLLECTIVES_H
#define WEFT_EMULATOR_NCCL_COLLECTIVES_H

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
  /// Those of one peer behind each other, in the order of their calls.
  std::vector<Transfer> transfers = {};
};

size_t bytesOf(ncclDataType_t type);

/// Whether source and destination are apart, or as in-place operations want.
bool isPlaced(const Operation &operation, int rank, int size);

// An operation has its memory from its beginning to its end, between which a
// device does whatever else may run beside it: what it reads must not change,
// and what it writes holds nothing of use. The beginning waits until all ranks
// have ended the one before it on the communicator, the end until all have
// begun. Both are false when `stop` was set, or with a text about what is
// wrong.

/// Gives this rank's part to the others, and spoils the destination.
bool begin(const Operation &operation, Meeting &meeting, int rank, int size,
           const std::atomic<bool> &stop, std::string &problem);
/// Takes what the others have given.
bool end(const Operation &operation, Meeting &meeting, int rank, int size,
         const std::atomic<bool> &stop, std::string &problem);

} // namespace fake_nccl

#endif // WEFT_EMULATOR_NCCL_COLLECTIVES_H
