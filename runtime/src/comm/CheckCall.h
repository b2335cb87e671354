//===- CheckCall.h - What is wrong with a call by itself --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_COMM_CHECKCALL_H
#define WEFT_RUNTIME_COMM_CHECKCALL_H

#include "Call.h"

#include <optional>

namespace weft::runtime {

/// What a call does at its two ends.
struct CallEnds {
  bool readsSource = true;
  bool writesDestination = true;
  /// Group indices in the source and the destination, or elements of an
  /// exchange.
  int64_t sourceParts = 1;
  int64_t destinationParts = 1;
  bool mayBeInPlace = false;
};

/// Bytes of outer * middle * inner * parts elements; nothing when that is
/// negative or too large.
std::optional<int64_t> extentBytes(const CallShape &shape, int64_t parts);

Status checkArguments(const Call &call, const CallEnds &ends);
Status checkReduction(const CallShape &shape);
Status checkPeer(std::string_view what, int peer, int size);
/// Whether what `rank` of `size` gets lies where it is said to.
Status checkBlocks(const Exchange &exchange, int rank, int size);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COMM_CHECKCALL_H
