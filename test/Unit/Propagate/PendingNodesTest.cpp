//===- PendingNodesTest.cpp - The nodes that wait for a visit -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PendingNodes.h"

#include "gtest/gtest.h"

#include <random>
#include <set>

using weft::propagation::PendingNodes;

namespace {

TEST(PendingNodes, StartsEmpty) {
  for (size_t bound : {0, 1, 64, 65, 5000})
    EXPECT_TRUE(PendingNodes(bound).empty());
}

TEST(PendingNodes, GivesTheLeastLikeASet) {
  for (size_t bound : {1, 63, 64, 65, 4096, 4097, 300000}) {
    PendingNodes pending(bound);
    std::set<size_t> expected;
    std::mt19937 random(bound);
    for (int step = 0; step < 2000; ++step) {
      if (random() % 3 == 0 && !expected.empty()) {
        ASSERT_EQ(pending.takeFirst(), *expected.begin());
        expected.erase(expected.begin());
      } else {
        size_t number = random() % bound;
        pending.insert(number);
        expected.insert(number);
      }
      ASSERT_EQ(pending.empty(), expected.empty());
    }
  }
}

} // namespace
