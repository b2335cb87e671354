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

TEST(CollectiveCostTest, SlowestLinkDecides) {
  CollectiveCost cost({Link{1, 0.5}, Link{2, 0.25}});
  sharding::AxisRef a{0, 1, 2}, b{1, 1, 2};
  EXPECT_DOUBLE_EQ(cost.seconds(8, {a}), 1 + 4);
  EXPECT_DOUBLE_EQ(cost.seconds(8, {b}), 2 + 2);
  EXPECT_DOUBLE_EQ(cost.seconds(8, {a, b}), 2 + 4);
}

TEST(CollectiveCostTest, AxesWithoutALinkHaveTheDefault) {
  CollectiveCost cost;
  EXPECT_EQ(cost.link(7), Link());
}
