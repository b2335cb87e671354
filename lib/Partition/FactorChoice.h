//===- FactorChoice.h - Axes for the factors of an op -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op can run on parts if all its tensors split each factor over the same
// axes and no axis splits two factors. Where its tensors disagree, something
// has to be resharded; this picks what.
//
// Example: x @ w with x [{"data"}, {}] and w [{"data"}, {}] of sizes 64x8, 8x8
//   i: x says {"data"}, the result too      -> agreed, "data" is taken
//   k: x says {}, w says {"data"}           -> {} is all that is left: gather w
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_FACTORCHOICE_H
#define WEFT_LIB_PARTITION_FACTORCHOICE_H

#include "ElementMoves.h"
#include "ReshardPrices.h"

#include "weft/Sharding/Linearity.h"
#include "weft/Sharding/ShardingRule.h"

namespace weft {

/// An op as the choice sees it.
struct FactorProblem {
  using Id = ReshardPrices::Id;

  struct Operand {
    mlir::RankedTensorType type;
    /// The type in which the value moves where nothing is reduced: that before
    /// it was converted to a wider one.
    mlir::RankedTensorType moved;
    /// The sharding that propagation gave to the value.
    Id declared;
    /// Those in which it is there. The first is the one it was made in.
    llvm::SmallVector<Id, 2> versions;
    /// The op is the only one to use the value.
    bool isOnlyUse = false;
    /// Ops of the same kind that use the value, this one included: what is
    /// resharded for one is there for the others (the slices of a fused
    /// projection).
    int64_t sharers = 1;
  };
  struct Result {
    mlir::RankedTensorType type;
    Id declared;
  };

  sharding::ShardingRule rule;
  sharding::Linearity linearity = sharding::Linearity::NotLinear;
  /// Its result is only added up over micro-batches: what is reduced before the
  /// op is reduced in each of them, and behind the sum once.
  bool isSummed = false;
  /// Of windows: what may be split alike in the operand and the result.
  llvm::SmallVector<ElementMove, 1> moves;
  llvm::SmallVector<Operand, 3> operands;
  llvm::SmallVector<Result, 1> results;

  bool operator<(const FactorProblem &other) const {
    return key() < other.key();
  }
  /// Everything that the solution depends on, in numbers.
  std::vector<int64_t> key() const;
};

/// In which sharding an op takes its operands and leaves its results.
struct FactorSolution {
  llvm::SmallVector<ReshardPrices::Id, 3> operands;
  llvm::SmallVector<ReshardPrices::Id, 1> results;
  /// Some operand is unreduced: the op runs on terms.
  bool onTerms = false;
};

FactorSolution chooseFactors(const FactorProblem &problem,
                             ReshardPrices &prices);

} // namespace weft

#endif // WEFT_LIB_PARTITION_FACTORCHOICE_H
