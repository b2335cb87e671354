//===- LowerBoundTest.cpp - Tests of the bounds ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/LowerBound.h"

#include "Tables.h"

#include <gmock/gmock.h>

using namespace weft::timeline;
using testing::DoubleEq;

namespace {

TEST(LowerBound, IsTheLongestOfTheRanks) {
  Costs costs;
  costs.transfer = 0.5;
  costs.stages = {{.forward = 1, .inputGradient = 2, .weightGradient = 3},
                  {.forward = 4, .inputGradient = 1, .weightGradient = 1}};
  // Rank 1: starts after 1.5, is busy for 6 a micro-batch, and its last
  // backward pass is followed by that of stage 0.
  EXPECT_THAT(lowerBound({0, 1}, 2, costs, false), DoubleEq(1.5 + 12 + 5.5));
  EXPECT_THAT(lowerBound({0, 1}, 2, costs, true), DoubleEq(13.5));
  EXPECT_THAT(lowerBound({0, 0}, 2, costs, false), DoubleEq(24));
}

TEST(LowerBound, CountsPairsAsShortAsTheyCanBe) {
  Costs costs;
  costs.stages = {{.overlapped = 2.5}};
  EXPECT_THAT(lowerBound({0}, 4, costs, true), DoubleEq(10));
  costs.stages = {{.overlapped = 5}};
  EXPECT_THAT(lowerBound({0}, 4, costs, true), DoubleEq(12));
}

TEST(LowerBoundWithin, WaitsForTheFirstGradient) {
  Costs costs;
  costs.stages.resize(4);
  // Rank 0 is free of all but 7 - 2 forwards until 4 + 3 is over.
  EXPECT_THAT(lowerBoundWithin(2, {0, 1, 2, 3}, 8, costs), DoubleEq(24 + 5));
  // The last rank starts after 3, which is the longest with memory enough.
  EXPECT_THAT(lowerBoundWithin(100, {0, 1, 2, 3}, 8, costs), DoubleEq(24 + 3));
}

TEST(LowerBoundWithin, WaitsForTheLastGradient) {
  Costs costs;
  costs.stages.resize(4);
  for (int s = 0; s < 3; ++s)
    costs.stages[s] = {.forward = 1, .inputGradient = 5, .weightGradient = 0};
  costs.stages[3] = {.forward = 10, .inputGradient = 10, .weightGradient = 1};
  // The last rank starts after 3, and has two weight gradients to fill the 15
  // that the others take after its last input gradient.
  EXPECT_THAT(lowerBoundWithin(2, {0, 1, 2, 3}, 20, costs),
              DoubleEq(3 + 20 * 21 + 15 - 2));
}

TEST(LowerBoundWithin, HoldsForEverySchedule) {
  forEachSize([](int32_t p, int32_t m) {
    for (const NamedSchedule &schedule : namedSchedules()) {
      if (!admits(schedule.name, {.ranks = p, .microbatches = m}))
        continue;
      const Table table =
          tableOf(schedule.name, {.ranks = p, .microbatches = m});
      const Extent extent = extentOf(table);
      for (double transfer : {0., 0.4}) {
        Costs costs;
        for (int32_t s = 0; s < p; ++s)
          costs.stages.push_back({.forward = 1 + 0.3 * (s % 3),
                                  .inputGradient = 1.4 - 0.2 * (s % 4),
                                  .weightGradient = 0.8 + 0.1 * (s % 2)});
        costs.transfer = transfer;
        costs = recut(costs, extent.stages);
        const Timing timing = timingOf(table, costs);
        EXPECT_GE(timing.makespan + 1e-9,
                  lowerBoundWithin(timing.peak(), extent.placement, m, costs))
            << schedule.name << ' ' << p << ' ' << m;
      }
    }
  });
}

} // namespace
