//===- OrderBoundTest.cpp - What no order of a program can be below -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/OrderBound.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

using namespace weft;

namespace {

Step compute(llvm::ArrayRef<int32_t> operands, int64_t time) {
  return {{operands.begin(), operands.end()}, false, false, time};
}
Step collective(int32_t operand, int64_t time) {
  return {{operand}, true, false, time};
}

TEST(OrderBound, NothingTakesNoTime) { EXPECT_EQ(leastTime({}), 0); }

TEST(OrderBound, ComputationIsInARow) {
  EXPECT_EQ(leastTime({compute({}, 3), compute({}, 4), compute({0}, 5)}), 12);
}

TEST(OrderBound, NothingHidesASumThatIsNeededAtOnce) {
  EXPECT_EQ(leastTime({compute({}, 3), collective(0, 10), compute({1}, 5)}),
            18);
}

TEST(OrderBound, LinksAreBusyBehindTheFirstGradient) {
  // Two gradients of 4 each, their sums of 10 each.
  std::vector<Step> steps = {compute({}, 4), compute({}, 4), collective(0, 10),
                             collective(1, 10)};
  EXPECT_EQ(leastTime(steps), 24);
  EXPECT_EQ(leastTimeByPaths(steps), 24);
  steps[3].link = 1;
  EXPECT_EQ(leastTime(steps), 18);
  EXPECT_EQ(leastTimeByPaths(steps), 18);
}

TEST(OrderBound, AllThatASumNeedsIsComputedBefore) {
  std::vector<Step> steps = {compute({}, 4), compute({}, 4), compute({0, 1}, 1),
                             collective(2, 5)};
  EXPECT_EQ(leastTime(steps), 14);
}

TEST(OrderBound, WhatIsWaitedForInEachLayerAddsUp) {
  // In each of two layers the first of two pieces waits for its collective.
  const std::vector<Step> steps = {
      compute({}, 0),  collective(0, 3),   collective(0, 3), compute({1}, 5),
      compute({2}, 5), compute({3, 4}, 0), collective(5, 3), collective(5, 3),
      compute({6}, 5), compute({7}, 5)};
  EXPECT_EQ(leastTime(steps), 26);
  // Paths know of one piece a layer.
  EXPECT_EQ(leastTimeByPaths(steps), 23);
}

/// The least time of all orders, each wait right before the first use.
int64_t searchLeast(llvm::ArrayRef<Step> steps) {
  std::vector<int32_t> order(steps.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t least = std::numeric_limits<int64_t>::max();
  do {
    std::vector<Action> actions;
    std::vector<bool> done(steps.size()), awaited(steps.size());
    auto wait = [&](int32_t step) {
      if (steps[step].isCollective && !awaited[step])
        actions.push_back({step, true});
      awaited[step] = true;
    };
    bool valid = true;
    for (int32_t step : order) {
      for (int32_t operand : steps[step].operands) {
        valid &= done[operand];
        wait(operand);
      }
      actions.push_back({step, false});
      done[step] = true;
    }
    for (int32_t step : order)
      wait(step);
    if (valid)
      least = std::min(least, costOf(steps, actions).picoseconds);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(OrderBound, IsBelowTheBestOrderOfRandomPrograms) {
  std::mt19937 random(5);
  int exact = 0, optimal = 0;
  constexpr int programs = 300;
  for (int program = 0; program < programs; ++program) {
    std::vector<Step> steps;
    while (steps.size() < 7) {
      auto draw = [&](int below) { return int(random() % below); };
      Step step = compute({}, 1 + draw(9));
      if (!steps.empty() && draw(3) == 0) {
        step = collective(draw(steps.size()), 1 + draw(9));
        step.link = draw(2);
      } else {
        for (int i = 0; !steps.empty() && i < draw(3); ++i)
          step.operands.push_back(draw(steps.size()));
      }
      steps.push_back(step);
    }
    const int64_t bound = leastTime(steps), least = searchLeast(steps);
    EXPECT_LE(bound, least);
    EXPECT_LE(leastTimeByPaths(steps), bound);
    const int64_t found = costOf(steps, fastestOrder(steps, 1)).picoseconds;
    EXPECT_GE(found, least);
    optimal += found == least;
    exact += bound == least;
  }
  EXPECT_GE(exact, programs * 3 / 4);
  EXPECT_GE(optimal, programs * 9 / 10);
}

} // namespace
