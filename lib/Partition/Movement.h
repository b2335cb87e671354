//===- Movement.h - A value that moves for an operand -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_MOVEMENT_H
#define WEFT_LIB_PARTITION_MOVEMENT_H

#include "OpChoices.h"

namespace weft {

/// A value that moves for an operand of an op.
struct Movement {
  mlir::OpOperand &use;
  /// What the user names; a constraint, or the value itself.
  mlir::Value wanted;
  /// The value as its op makes it.
  mlir::Value made;
  ReshardPrices::Id from, need;
  /// How the user runs; null for a return.
  const FactorSolution *choice;
};

/// The value that a marker, barrier or inserted reshard passes on.
mlir::Value valueBehind(mlir::Value value);

/// Whether one of the axes shares devices with `axis`.
bool overlapsAny(llvm::ArrayRef<sharding::AxisRef> axes,
                 const sharding::AxisRef &axis);

/// Whether a dimension is split over `axis`, or a part of it.
bool isSplitOver(const sharding::Sharding &sharding,
                 const sharding::AxisRef &axis);

/// How the value is there while ops are visited.
sharding::Sharding shardingWhileVisited(mlir::Value value,
                                        ReshardPrices &prices);

/// From partial results back to those that an op makes of what is split, or to
/// an argument.
mlir::Value originOfTerms(mlir::Value value, const sharding::AxisRef &axis,
                          ReshardPrices &prices);

} // namespace weft

#endif // WEFT_LIB_PARTITION_MOVEMENT_H
