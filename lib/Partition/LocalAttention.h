//===- LocalAttention.h - Attention over a split sequence -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention of which each device has a part of the queries.
//
// If the keys are split alike, they move around a ring: each device computes
// with the keys that it holds while it receives those of the next device, and
// puts the results over parts of the keys together by their logsumexp. In the
// derivative the cotangents of keys and values travel with them, and come home
// with one step more; every step reads the results over all keys. Nobody ever
// holds all keys.
//
// If each device has all keys, only the causal mask changes: the queries of a
// device begin at its part.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_LOCALATTENTION_H
#define WEFT_LIB_PARTITION_LOCALATTENTION_H

#include "LowerReshard.h"

namespace weft {

/// Attention whose operands have their local types.
struct SplitAttention {
  /// weft.attention or weft.attention_grad.
  mlir::Operation *op = nullptr;
  /// The local types of the results.
  llvm::SmallVector<mlir::RankedTensorType, 3> local;
  /// What splits the queries, and whether it splits the keys as well.
  sharding::AxisList axes;
  bool areKeysSplit = false;
};

/// What stands for the results of the op, which is erased.
llvm::SmallVector<mlir::Value, 3>
localizeAttention(const SplitAttention &attention, const MeshContext &context);

} // namespace weft

#endif // WEFT_LIB_PARTITION_LOCALATTENTION_H
