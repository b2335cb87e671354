//===- OpPriorityTest.cpp - What each round of propagation allows ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpPriority.h"

#include "gtest/gtest.h"

using namespace weft::propagation;
using namespace weft::sharding;

namespace {

constexpr Direction none = Direction::None, forward = Direction::Forward,
                    backward = Direction::Backward, both = Direction::Both;

/// A rule with a pass-through, a reduction and a blocked factor.
ShardingRule ruleOf(OpCategory category) {
  ShardingRule rule;
  rule.category = category;
  rule.addFactor(8);
  rule.addFactor(8, FactorKind::Reduction);
  rule.addFactor(8, FactorKind::PassThrough, /*blocked=*/true);
  return rule;
}

struct Case {
  OpCategory category;
  bool singleUse;
  Direction passThrough[numRounds];
  Direction reduction[numRounds];
};

const Case cases[] = {{OpCategory::Elementwise,
                       true,
                       {both, both, both, both, both},
                       {both, both, both, both, both}},
                      {OpCategory::Elementwise,
                       false,
                       {none, both, both, both, both},
                       {none, both, both, both, both}},
                      {OpCategory::DataFlow,
                       false,
                       {none, both, both, both, both},
                       {none, both, both, both, both}},
                      {OpCategory::DynamicSlice,
                       true,
                       {forward, forward, both, both, both},
                       {forward, forward, forward, both, both}},
                      {OpCategory::Broadcast,
                       true,
                       {none, none, backward, backward, both},
                       {none, none, none, backward, both}},
                      {OpCategory::Other,
                       true,
                       {none, none, both, both, both},
                       {none, none, none, both, both}}};

TEST(OpPriority, TableOfRounds) {
  for (const Case &each : cases) {
    RoundDirections directions(ruleOf(each.category), each.singleUse);
    for (int8_t round = 0; round < numRounds; ++round) {
      SCOPED_TRACE(testing::Message() << "category " << int(each.category)
                                      << " round " << int(round));
      EXPECT_EQ(directions.inRound(round)[0], each.passThrough[round]);
      EXPECT_EQ(directions.inRound(round)[1], each.reduction[round]);
      EXPECT_EQ(directions.inRound(round)[2], none);
      EXPECT_EQ(directions.anyInRound(round),
                each.passThrough[round] != none ||
                    each.reduction[round] != none);
    }
  }
}

TEST(OpPriority, LastGainIsTheRoundThatAllowedMore) {
  RoundDirections dot(ruleOf(OpCategory::Other), true);
  EXPECT_EQ(dot.lastGain(0), -1);
  EXPECT_EQ(dot.lastGain(1), -1);
  EXPECT_EQ(dot.lastGain(2), 2);
  EXPECT_EQ(dot.lastGain(3), 3);
  EXPECT_EQ(dot.lastGain(4), 3);
  RoundDirections broadcast(ruleOf(OpCategory::Broadcast), true);
  EXPECT_EQ(broadcast.lastGain(4), 4);
  RoundDirections add(ruleOf(OpCategory::Elementwise), false);
  EXPECT_EQ(add.lastGain(0), -1);
  EXPECT_EQ(add.lastGain(4), 1);
}

} // namespace
