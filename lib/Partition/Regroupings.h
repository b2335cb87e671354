//===- Regroupings.h - Reshapes that move elements --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reshape makes some dimensions of others. Where one of the former and one of
// the latter are split over the same axes, the elements that change the device
// are those of a move along all of them as one dimension: the split one is a
// segment for each position of those before it.
//
// Example: 12 -> 3x4, the last split over 2
//   member 0 has 0-5 before, and 0-1, 4-5, 8-9 after: from [12] to [4, 4, 4]
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_REGROUPINGS_H
#define WEFT_LIB_PARTITION_REGROUPINGS_H

#include "ElementMoves.h"

namespace weft {

/// A move, and the rule in which its dimensions have factors of their own.
struct Regrouping {
  ElementMove move;
  sharding::ShardingRule rule;
};

/// Of a reshape between types that are not local ones: one for each dimension
/// of the operand, and each of the result that has elements of it.
std::vector<Regrouping> findRegroupings(mlir::RankedTensorType operand,
                                        mlir::RankedTensorType result);

/// The one that a reshape between these shardings is, if elements change the
/// device.
std::optional<Regrouping> findRegrouping(mlir::RankedTensorType operand,
                                         mlir::RankedTensorType result,
                                         const sharding::Sharding &before,
                                         const sharding::Sharding &after);

} // namespace weft

#endif // WEFT_LIB_PARTITION_REGROUPINGS_H
