//===- PendingNodesTest.cpp - The nodes that wait for a visit -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PendingNodes.h"

#include "gtest/gtest.h"

using weft::propagation::PendingNodes;

namespace {

TEST(PendingNodes, StartsEmpty) {
  for (size_t bound : {0, 1, 64, 65, 5000})
    EXPECT_TRUE(PendingNodes(bound).empty());
}

TEST(PendingNodes, GivesWhatWasPushedLast) {
  PendingNodes pending(4);
  for (size_t number : {3, 0, 2})
    pending.push(number);
  EXPECT_EQ(pending.pop(), 2u);
  pending.push(1);
  EXPECT_EQ(pending.pop(), 1u);
  EXPECT_EQ(pending.pop(), 0u);
  EXPECT_EQ(pending.pop(), 3u);
  EXPECT_TRUE(pending.empty());
}

TEST(PendingNodes, KeepsThePlaceOfWhatWaits) {
  PendingNodes pending(3);
  for (size_t number : {0, 1, 2, 0, 1})
    pending.push(number);
  EXPECT_EQ(pending.pop(), 2u);
  EXPECT_EQ(pending.pop(), 1u);
  pending.push(1);
  EXPECT_EQ(pending.pop(), 1u);
  EXPECT_EQ(pending.pop(), 0u);
  EXPECT_TRUE(pending.empty());
}

} // namespace
