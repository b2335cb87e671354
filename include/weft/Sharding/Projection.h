//===- Projection.h - Shardings seen along factors --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Propagation compares tensors of different shapes along the factors of an op.
// `project` distributes the axes of each dimension to its factors; `unproject`
// puts them together again.
//
// Example: reshape tensor<4x8> -> tensor<32> has factors i=4, j=8 and the
// result dimension is [ij], major to minor. On a mesh <["a"=2, "b"=2, "c"=4]>
//
//   result [{"a", "c"}]  ->  i: {"a", "c":(1)2}   j: {"c":(2)2}
//
// since i has room for a split by 4. Where the axes of a dimension do not
// divide a factor that is not the minor-most, they overflow: with a mesh
// <["a"=3]> the result [{"a"}] gives i the overflow axes {"a"}, and j is closed
// and empty. Axes that overflow are not propagated, but are not lost either.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SHARDING_PROJECTION_H
#define WEFT_SHARDING_PROJECTION_H

#include "weft/Sharding/ShardingRule.h"

namespace weft::sharding {

/// The part of a tensor's sharding that belongs to one factor.
struct FactorSharding {
  int32_t factor = 0;
  AxisList axes;
  /// Nothing may be added.
  bool closed = false;
  /// The last factor of its dimension.
  bool minorMost = false;
  /// Axes of the dimension after `axes` that do not divide the factor.
  AxisList overflow;

  bool operator==(const FactorSharding &other) const = default;
};

/// A tensor's sharding along the factors of an op. A factor that the tensor
/// has but that lies behind overflow axes by two or more positions is missing.
struct TensorProjection {
  llvm::SmallVector<FactorSharding, 4> factors;
  AxisList replicated;
  AxisList unreduced;
  Reduction unreducedKind = Reduction::Sum;

  FactorSharding *find(int32_t factor);
  const FactorSharding *find(int32_t factor) const;

  bool operator==(const TensorProjection &other) const = default;
};

/// Projection of a tensor with the factors `tensor`. A tensor without a
/// sharding (null) counts as open in every dimension, or as closed if
/// `missingIsClosed`.
TensorProjection project(const TensorFactors &tensor,
                         llvm::ArrayRef<Factor> factors,
                         const Sharding *sharding,
                         bool missingIsClosed = false);

/// The sharding that `projection` spells. Within a dimension, nothing follows a
/// factor that has overflow axes or is not split completely: the dimension
/// would be split with strides. A dimension is closed if one of the factors up
/// to there is.
Sharding unproject(const TensorFactors &tensor, llvm::ArrayRef<Factor> factors,
                   const TensorProjection &projection);

} // namespace weft::sharding

#endif // WEFT_SHARDING_PROJECTION_H
