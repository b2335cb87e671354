//===- ShardingRule.h - Which dimensions of an op go together ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sharding rule maps every dimension of every operand and result of an op to
// an ordered list of factors, major to minor. Dimensions that share a factor
// are split alike. A factor has a size and a kind, which says what a split of
// it means for the op.
//
// Example: dot_general of tensor<4x8> and tensor<8x16>
//   ([i, k], [k, j]) -> ([i, j])  with i=4, j=16, k=8 and k a reduction factor.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SHARDING_SHARDINGRULE_H
#define WEFT_SHARDING_SHARDINGRULE_H

#include "llvm/ADT/SmallVector.h"

#include "weft/Sharding/Sharding.h"

namespace weft::sharding {

enum class FactorKind : uint8_t {
  /// Every shard of the result comes from the same shard of the operands.
  PassThrough,
  /// Summed over: a split makes the results that do not have it unreduced.
  Reduction,
  /// A split would need the whole factor on every device: the partitioner
  /// gathers it first.
  NeedReplication,
  /// A split would need data of other shards (pad, the result of a slice along
  /// the dimension); today handled like NeedReplication.
  Permutation,
};

/// What the rounds of propagation and the direction rules distinguish.
enum class OpCategory : uint8_t {
  Elementwise,
  /// reshape and transpose: data flows through unchanged.
  DataFlow,
  Broadcast,
  DynamicSlice,
  /// slice, gather and scatter_add: elements are looked up in a table, or added
  /// to one, that is not walked.
  Lookup,
  Other,
};

/// Factors of one tensor: for each dimension the factors, major to minor.
using DimFactors = llvm::SmallVector<int32_t, 1>;
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::PassThrough;
  /// A factor that may not be propagated along.
  bool blocked = false;

  bool operator==(const Factor &other) const = default;
};

struct ShardingRule {
  llvm::SmallVector<Factor, 4> factors;
  llvm::SmallVector<TensorFactors, 3> operands;
  llvm::SmallVector<TensorFactors, 1> results;
  OpCategory category = OpCategory::Other;
  /// How results of a split reduction factor are combined.
  Reduction reduction = Reduction::Sum;

  /// Adds a factor and returns its index.
  int32_t addFactor(int64_t size, FactorKind kind = FactorKind::PassThrough,
                    bool blocked = false);
  /// Whether a split of the factor makes a result unreduced.
  bool isReducedIn(size_t result, int32_t factor) const;

  bool operator==(const ShardingRule &other) const = default;
};

/// Rule of an op whose operands and results all have shape `shape`. Operands
/// of rank 0 (a scalar predicate, say) take no part.
ShardingRule elementwiseRule(llvm::ArrayRef<int64_t> shape,
                             llvm::ArrayRef<size_t> operandRanks,
                             size_t numResults);

/// Rule of a reshape by a walk over both shapes that splits dimensions into
/// common factors; where the products diverge, operand-only and result-only
/// factors until they meet again.
ShardingRule reshapeRule(llvm::ArrayRef<int64_t> operandShape,
                         llvm::ArrayRef<int64_t> resultShape);

/// `([i, k], [k, j])->([i, j]) {i=4, j=16, k=8} reduction={k}`.
std::string print(const ShardingRule &rule);

} // namespace weft::sharding

#endif // WEFT_SHARDING_SHARDINGRULE_H
