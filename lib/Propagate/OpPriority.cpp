//===- OpPriority.cpp - What each round of propagation allows -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpPriority.h"

#include "llvm/ADT/STLExtras.h"

namespace weft::propagation {

using namespace sharding;

/// What rounds 0 and 1 allow, apart from the number of uses.
static Direction flowingThrough(OpCategory category) {
  switch (category) {
  case OpCategory::Elementwise:
  case OpCategory::DataFlow:
    return Direction::Both;
  case OpCategory::DynamicSlice:
    return Direction::Forward;
  case OpCategory::Broadcast:
  case OpCategory::Lookup:
  case OpCategory::Other:
    return Direction::None;
  }
  return Direction::None;
}

static Direction directionInRound(int8_t round, const ShardingRule &rule,
                                  bool singleUse, const Factor &factor) {
  if (factor.blocked)
    return Direction::None;
  if (round == 4)
    return Direction::Both;
  Direction direction = Direction::None;
  if (round >= (singleUse ? 0 : 1))
    direction = flowingThrough(rule.category);
  if (round >= (factor.kind == FactorKind::PassThrough ? 2 : 3))
    direction = direction |
                (rule.category == OpCategory::Broadcast ? Direction::Backward
                                                        : Direction::Both);
  return direction;
}

RoundDirections::RoundDirections(const ShardingRule &rule, bool singleUse) {
  int8_t gain = -1;
  for (int8_t round = 0; round < numRounds; ++round) {
    for (const Factor &factor : rule.factors)
      directions[round].push_back(
          directionInRound(round, rule, singleUse, factor));
    bool gained =
        round == 0 ? anyInRound(0) : directions[round] != directions[round - 1];
    gains[round] = gain = gained ? round : gain;
  }
}

bool RoundDirections::anyInRound(int8_t round) const {
  return llvm::any_of(directions[round], [](Direction direction) {
    return direction != Direction::None;
  });
}

} // namespace weft::propagation
