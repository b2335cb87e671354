//===- OpSplit.h - How an op is split over the mesh -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op can run on parts if all its tensors split each factor over the same
// axes and no axis splits two factors. The axes of its factors say in which
// shardings it takes its operands and leaves its results.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_OPSPLIT_H
#define WEFT_LIB_PARTITION_OPSPLIT_H

#include "ElementMoves.h"
#include "ReshardPrices.h"

#include "weft/Sharding/ShardingRule.h"

#include "llvm/ADT/SmallBitVector.h"

namespace weft {

struct OpSplit {
  /// By factor of the rule.
  llvm::SmallVector<sharding::AxisList, 4> factors;
  /// Axes over which operands are partial results, and with them the results.
  /// Factors of which elements are exchanged: an operand's and the result's
  /// have the same axes. A bit each.
  llvm::SmallBitVector moved;
  /// Those of them over whose axes results are partial sums.
  llvm::SmallBitVector summed;
  sharding::AxisList terms;
  sharding::Reduction termsKind = sharding::Reduction::Sum;
  /// By operand: whether it is partial over `terms`. A bit each.
  uint64_t heldBy = 0;

  bool holds(size_t operand) const { return heldBy >> operand & 1; }
  /// Whether one of `axes` is used up: by another factor or by the terms.
  bool isMoved(size_t factor) const {
    return factor < moved.size() && moved.test(factor);
  }
  bool isSummed(size_t factor) const {
    return factor < summed.size() && summed.test(factor);
  }
  /// Splits the dimension of a move over `axes` on both sides, if nothing else
  /// is.
  bool move(const sharding::ShardingRule &rule, const ElementMove &move,
            const sharding::AxisList &axes);
  /// Whether the split has the dimension of a move so.
  bool moves(const sharding::ShardingRule &rule, const ElementMove &move) const;
  bool collides(int32_t factor, llvm::ArrayRef<sharding::AxisRef> axes) const;
};

/// What follows from a split of an op with the rule `rule`.
class OpSplitter {
public:
  using Id = ReshardPrices::Id;

  OpSplitter(const sharding::ShardingRule &rule, ReshardPrices &prices)
      : rule(rule), prices(prices) {}

  /// The sharding in which the op takes the operand.
  Id operandNeed(size_t index, const OpSplit &split) const;
  /// The sharding in which it leaves the result.
  Id resultLeft(size_t index, const OpSplit &split) const;
  /// Whether every tensor can be split so. A dimension of factors f and g,
  /// major to minor, is not split along g unless f is split completely.
  bool canBeSpelled(const OpSplit &split) const;
  /// Rough time on one device: a choice that computes on parts wins where
  /// communication is equal.
  double secondsToCompute(const OpSplit &split) const;
  /// Elements of a row along the dimension of a move, of which it moves some.
  double elementsBeside(const ElementMove &move, const OpSplit &split) const;
  /// Whether the factor is the indexed dimension of a table. What is looked up
  /// in a part of it may be larger than the table.
  bool isLookedUp(int32_t factor) const;
  /// Whether the op moves data only: it commutes with any reduction.
  bool movesData() const;

private:
  sharding::Sharding shardingOf(const sharding::TensorFactors &tensor,
                                const OpSplit &split) const;
  double elementsOf(const sharding::TensorFactors &tensor,
                    const OpSplit &split) const;

  const sharding::ShardingRule &rule;
  ReshardPrices &prices;
};

/// Whether a factor of this kind can be split over axes.
bool mayBeSplit(const sharding::Factor &factor);

} // namespace weft

#endif // WEFT_LIB_PARTITION_OPSPLIT_H
