//===- CombinedCallsTest.cpp ----------------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/CombinedCalls.h"

#include "gtest/gtest.h"

#include <random>

using namespace weft::cost;

namespace {

TEST(CombinedCallsTest, NothingTakesNoLatency) {
  EXPECT_EQ(combinedLatency({}), 0);
}

TEST(CombinedCallsTest, ACommonPositionIsOneCall) {
  EXPECT_EQ(combinedLatency({{0, 2, 5, 1}, {0, 0, 4, 1}, {0, 4, 9, 1}}), 1);
}

/// The example of the header.
TEST(CombinedCallsTest, WhatWaitsForAnotherIsACallOfItsOwn) {
  EXPECT_EQ(combinedLatency({{0, 0, 4, 1}, {0, 2, 5, 1}, {0, 6, 7, 1}}), 2);
}

TEST(CombinedCallsTest, KindsAreNotCombined) {
  EXPECT_EQ(combinedLatency({{0, 0, 4, 1}, {1, 0, 4, 2}}), 3);
}

TEST(CombinedCallsTest, ACallTakesTheLongestLatency) {
  EXPECT_EQ(combinedLatency({{0, 0, 4, 1}, {0, 0, 4, 3}, {0, 0, 4, 2}}), 3);
}

/// The fewest positions of which each collective has one, by looking at every
/// set of positions.
TEST(CombinedCallsTest, CallsAreTheFewest) {
  std::mt19937 random(1);
  const size_t positions = 8;
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<PendingCall> pending(1 + random() % 6);
    for (PendingCall &call : pending) {
      call.earliest = random() % positions;
      call.latest = call.earliest + random() % (positions - call.earliest);
      call.latencySeconds = 1;
    }
    size_t fewest = positions;
    for (unsigned called = 0; called < 1U << positions; ++called) {
      bool areAllServed = true;
      for (const PendingCall &call : pending) {
        unsigned own = (2U << call.latest) - (1U << call.earliest);
        areAllServed = areAllServed && (called & own);
      }
      if (areAllServed)
        fewest = std::min<size_t>(fewest, __builtin_popcount(called));
    }
    EXPECT_EQ(combinedLatency(pending), fewest) << "trial " << trial;
  }
}

} // namespace
