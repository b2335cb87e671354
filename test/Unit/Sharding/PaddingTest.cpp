//===- PaddingTest.cpp - Dimensions that their shards do not divide -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/Padding.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace weft::sharding;

namespace {

TEST(PaddedSize, IsTheNextMultiple) {
  EXPECT_EQ(paddedSize(50257, 4), 50260);
  EXPECT_EQ(paddedSize(50260, 4), 50260);
  EXPECT_EQ(paddedSize(50257, 1), 50257);
  EXPECT_EQ(paddedSize(0, 4), 0);
}

TEST(DimClasses, WhatDividesIsNotPadded) {
  DimClasses classes;
  int32_t a = classes.add(12), b = classes.add(12);
  classes.split(a, 2);
  classes.split(b, 3);
  classes.join(a, b);
  EXPECT_EQ(classes.paddedSize(a), 12);
}

TEST(DimClasses, AllShardsDivideThePaddedSize) {
  DimClasses classes;
  int32_t table = classes.add(50257), state = classes.add(50257),
          other = classes.add(50257);
  classes.split(table, 4);
  classes.split(state, 8);
  classes.split(other, 3);
  EXPECT_EQ(classes.paddedSize(table), 50260);
  EXPECT_EQ(classes.paddedSize(state), 50264);
  classes.join(table, state);
  EXPECT_EQ(classes.paddedSize(table), 50264);
  EXPECT_EQ(classes.paddedSize(state), 50264);
  EXPECT_EQ(classes.paddedSize(other), 50259);
}

/// 6 divides by 2 and not by 4: with 4 it is 8, for both.
TEST(DimClasses, OneUnevenNumberPadsAll) {
  DimClasses classes;
  int32_t a = classes.add(6), b = classes.add(6), c = classes.add(6);
  classes.split(a, 2);
  classes.join(b, a);
  classes.join(b, c);
  EXPECT_EQ(classes.paddedSize(c), 6);
  classes.split(c, 4);
  EXPECT_EQ(classes.paddedSize(a), 8);
}

class IsLocalShape : public testing::Test {
protected:
  bool check(Shape local, Shape global) {
    Sharding sharding = Sharding::closed(2);
    sharding.dims[0].axes = {mesh.fullAxis(0)};
    return isLocalShape(mesh, local, global, sharding);
  }
  Mesh mesh = Mesh({{"a", 4}, {"b", 2}});
};

TEST_F(IsLocalShape, HoldsAllElements) {
  EXPECT_TRUE(check({2, 5}, {8, 5}));
  EXPECT_TRUE(check({2, 5}, {5, 5}));
  EXPECT_FALSE(check({1, 5}, {5, 5}));
}

/// 8 devices make padding of at most 7.
TEST_F(IsLocalShape, HasLittlePadding) {
  EXPECT_TRUE(check({3, 5}, {5, 5}));
  EXPECT_FALSE(check({4, 5}, {5, 5}));
  EXPECT_FALSE(check({8, 5}, {8, 5}));
}

TEST_F(IsLocalShape, IsPaddedOnlyWhereItIsSplit) {
  EXPECT_FALSE(check({2, 6}, {8, 5}));
  EXPECT_FALSE(check({2}, {8, 5}));
}

/// A reshape of 6x4 to 2x3x4 takes the first dimension apart.
TEST(WholeDimFactors, AreAloneInTheirDimensions) {
  ShardingRule rule = reshapeRule({6, 4}, {2, 3, 4});
  auto whole = findWholeDimFactors(rule);
  ASSERT_EQ(rule.results[0][2].size(), 1u);
  EXPECT_TRUE(whole[rule.results[0][2].front()]);
  for (int32_t factor : rule.operands[0][0])
    EXPECT_FALSE(whole[factor]);
}

} // namespace
