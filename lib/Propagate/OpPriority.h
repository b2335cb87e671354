//===- OpPriority.h - What each round of propagation allows -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cheap and certain propagation comes first. Rounds are cumulative: what one
// allows, all later ones do.
//
//   round  allowed
//   0      elementwise nodes, reshapes, transposes, ties: where all operands
//          that are not scalars have one use; dynamic slices forward
//   1      the same, whatever the number of uses
//   2      all nodes along pass-through factors; broadcasts backward only
//   3      all nodes along all factors; broadcasts backward only
//   4      everything
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PROPAGATE_OPPRIORITY_H
#define WEFT_LIB_PROPAGATE_OPPRIORITY_H

#include "FactorPropagation.h"

#include <array>

namespace weft::propagation {

constexpr int8_t numRounds = 5;

/// Directions of every factor of a rule in every round.
class RoundDirections {
public:
  RoundDirections(const sharding::ShardingRule &rule, bool singleUse);

  llvm::ArrayRef<Direction> inRound(int8_t round) const {
    return directions[round];
  }
  bool anyInRound(int8_t round) const;
  /// The last round up to `round` that allows more than the one before it; -1
  /// if nothing is allowed yet.
  int8_t lastGain(int8_t round) const { return gains[round]; }

private:
  std::array<llvm::SmallVector<Direction, 8>, numRounds> directions;
  std::array<int8_t, numRounds> gains;
};

} // namespace weft::propagation

#endif // WEFT_LIB_PROPAGATE_OPPRIORITY_H
