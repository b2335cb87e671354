//===- CollectiveBuckets.h - Which collectives become one -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collectives alike, each with the part of a block in which it can stand, are
// cut into rows of which each becomes one call (weft/Cost/Buckets.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_COLLECTIVEBUCKETS_H
#define WEFT_LIB_PARTITION_COLLECTIVEBUCKETS_H

#include "BlockTimes.h"
#include "BucketRoom.h"

#include "weft/Cost/CostModel.h"
#include "weft/IR/WeftOps.h"

namespace weft {

/// The share of a combined collective above which one stays by itself: it has
/// little latency to save, and its bytes would be held twice or waited for.
inline constexpr double largestShare = 0.25;

/// A collective that may become part of another one.
struct Candidate {
  CommunicationOpInterface op;
  /// Of the op in the block; it can stand before any op from `earliest` to
  /// `latest`.
  size_t number, earliest, latest;
  int64_t wireBytes;
  cost::CollectiveCall call;
  /// What it holds where it is called, and its result used, as soon as it can
  /// be. What is computed of it then is not counted.
  HeldSpan held;
  /// When its operand is there, and when its result is needed.
  double ready = 0, needed = 0;
  /// Whether it can run beside computation. Otherwise it takes its time
  /// whenever it runs.
  bool canBeHidden = true;
  /// Whether it is needed before a call that begins when it is ready would end.
  bool isExposed = false;
};

/// Collectives that become one, before any op from `earliest` to `latest`.
struct Bucket {
  llvm::SmallVector<Candidate> members;
  size_t earliest = 0, latest = SIZE_MAX;
};

/// Buckets of several members. Sums are taken in the order in which operands
/// are made, all-gathers in that of their users, as gathered tensors are kept
/// no longer than needed. `times`: of the block; `latencies`: the option of the
/// pass.
std::vector<Bucket> chooseBuckets(mlir::Block &block,
                                  llvm::SmallVector<Candidate> candidates,
                                  const BlockTimes &times, int64_t latencies,
                                  const cost::CostModel &model);

} // namespace weft

#endif // WEFT_LIB_PARTITION_COLLECTIVEBUCKETS_H
