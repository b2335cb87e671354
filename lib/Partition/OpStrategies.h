//===- OpStrategies.h - All ways to split an op -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_OPSTRATEGIES_H
#define WEFT_LIB_PARTITION_OPSTRATEGIES_H

#include "ElementMoves.h"
#include "ReshardPrices.h"

#include "weft/Sharding/Linearity.h"
#include "weft/Sharding/ShardingRule.h"

namespace weft {

/// One way to run an op on parts.
struct OpStrategy {
  llvm::SmallVector<ReshardPrices::Id, 3> operands;
  llvm::SmallVector<ReshardPrices::Id, 1> results;
  /// Of computing on one device.
  double seconds = 0;
  /// Of exchanges that are a part of the op, and the bytes that a device sends.
  double exchangeSeconds = 0;
  double exchangeBytes = 0;
  /// Some operand holds partial results.
  bool onTerms = false;
};

/// An op, and the axes that its factors and partial results may have.
struct StrategyProblem {
  sharding::ShardingRule rule;
  sharding::Linearity linearity = sharding::Linearity::NotLinear;
  /// By factor: what may split it, beside nothing.
  llvm::SmallVector<llvm::SmallVector<sharding::AxisList, 3>, 4> options;
  /// What elements the op moves along a dimension, and what may split it.
  struct Move {
    ElementMove move;
    /// How many ops one exchange serves.
    int64_t sharers = 1;
    llvm::SmallVector<sharding::AxisList, 3> options;
  };
  llvm::SmallVector<Move, 1> moves;
  int64_t elementBytes = 1;
  /// Axes over which operands may be partial sums.
  sharding::AxisList terms;

  /// Everything that the strategies depend on, in numbers.
  std::vector<int64_t> key() const;
};

/// The sets of operands that may hold partial results, as bits.
llvm::SmallVector<uint64_t> possibleHolders(sharding::Linearity linearity,
                                            size_t numOperands);

/// All strategies, without two that take and leave alike; in the order of the
/// options, with nothing split last.
std::vector<OpStrategy> listStrategies(const StrategyProblem &problem,
                                       ReshardPrices &prices);

} // namespace weft

#endif // WEFT_LIB_PARTITION_OPSTRATEGIES_H
