//===- BucketRoom.h - What may be held until it is sent ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that are sent in one call have one buffer, from when the first of them
// is made to when the last is read for the last time. Where the block holds
// less than at its peak, as when most of a backward pass is done, that costs no
// memory.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_BUCKETROOM_H
#define WEFT_LIB_PARTITION_BUCKETROOM_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"

#include <cstdint>
#include <vector>

namespace weft {

/// Bytes that are held from before one op to before another, by their numbers.
struct HeldSpan {
  size_t begin, end;
  int64_t bytes;
};

class BucketRoom {
public:
  /// `sent`: what calls of their own would hold; the results of `senders`. What
  /// a block returns is not counted: it may take the place of an argument.
  /// `grows`: a little more may be held than the block does at its peak.
  BucketRoom(mlir::Block &block,
             const llvm::DenseSet<mlir::Operation *> &senders,
             std::vector<HeldSpan> sent, bool grows);

  /// Whether one buffer for what `sent` has from `from` up to `to` takes no
  /// more than that, beside all else that is held.
  bool fits(size_t from, size_t to) const;

private:
  size_t placeOf(size_t number) const;

  std::vector<HeldSpan> sent;
  /// Numbers of ops between which the same is sent, and the most that is held
  /// from each to the next.
  std::vector<size_t> places;
  std::vector<int64_t> held;
  int64_t most = 0;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_BUCKETROOM_H
