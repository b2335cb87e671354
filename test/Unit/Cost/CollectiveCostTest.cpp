//===- CollectiveCostTest.cpp ---------------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/CollectiveCost.h"

#include "gtest/gtest.h"

using namespace weft;
using namespace weft::cost;

TEST(CollectiveCostTest, RingBytes) {
  EXPECT_EQ(wireBytes(CollectiveKind::AllGather, 400, 4), 300);
  EXPECT_EQ(wireBytes(CollectiveKind::ReduceScatter, 400, 4), 300);
  EXPECT_EQ(wireBytes(CollectiveKind::AllReduce, 400, 4), 600);
  EXPECT_EQ(wireBytes(CollectiveKind::AllToAll, 400, 4), 300);
  EXPECT_EQ(wireBytes(CollectiveKind::Permute, 400, 4), 400);
}

TEST(CollectiveCostTest, AloneNothingIsSent) {
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
        CollectiveKind::AllReduce, CollectiveKind::AllToAll,
        CollectiveKind::Permute})
    EXPECT_EQ(wireBytes(kind, 400, 1), 0);
}

/// A scalar is one chunk that goes around.
TEST(CollectiveCostTest, ChunksAreWhole) {
  EXPECT_EQ(wireBytes(CollectiveKind::AllReduce, 4, 3), 2 * 2 * 2);
}

TEST(CollectiveCostTest, SpansOfHostsAndOfMany) {
  CollectiveCost cost({{8, {1, 0.25}}, {32, {2, 0.5}}});
  EXPECT_DOUBLE_EQ(cost.seconds(8, 2), 1 + 2);
  EXPECT_DOUBLE_EQ(cost.seconds(8, 8), 1 + 2);
  EXPECT_DOUBLE_EQ(cost.seconds(8, 16), 2 + 4);
  EXPECT_DOUBLE_EQ(cost.seconds(8, 64), 2 + 4);
}

TEST(CollectiveCostTest, WithoutLevelsNothingCosts) {
  EXPECT_EQ(CollectiveCost(std::vector<LinkLevel>()).link(7), Link());
}

TEST(CollectiveCostTest, AShareOfTheLatencies) {
  CollectiveCost cost({{8, {1, 0.25}}, {32, {2, 0.5}}});
  EXPECT_EQ(cost.withLatencyShare(0.5).link(8), (Link{0.5, 0.25}));
  EXPECT_EQ(cost.withLatencyShare(0.5).link(99), (Link{1, 0.5}));
}
