//===- TimingTest.cpp - Tests of timing -----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Timing.h"

#include "Tables.h"

#include <gmock/gmock.h>

using namespace weft::timeline;
using testing::DoubleEq;

namespace {

TEST(Timing, WaitsForInputsAndForTheRank) {
  const Table table = tableOf("0F0,0F1,0I0,0W0,0B1\n1F0,1I0,1F1,1B1,1W0\n");
  Costs costs;
  costs.transfer = 0.5;
  costs.stages = {{.forward = 1, .inputGradient = 2, .weightGradient = 3},
                  {.forward = 4, .inputGradient = 1, .weightGradient = 1}};
  const Timing timing = timingOf(table, costs);
  const auto expect = [&](int32_t rank, size_t index, double start,
                          double end) {
    EXPECT_THAT(timing.rows[rank][index].start, DoubleEq(start)) << index;
    EXPECT_THAT(timing.rows[rank][index].end, DoubleEq(end)) << index;
  };
  expect(0, 0, 0, 1);       // 0F0
  expect(0, 1, 1, 2);       // 0F1
  expect(1, 0, 1.5, 5.5);   // 1F0 after a transfer
  expect(1, 1, 5.5, 6.5);   // 1I0 in the same rank
  expect(1, 2, 6.5, 10.5);  // 1F1 when the rank is free
  expect(1, 3, 10.5, 12.5); // 1B1 takes I and W
  expect(1, 4, 12.5, 13.5); // 1W0
  expect(0, 2, 7, 9);       // 0I0
  expect(0, 3, 9, 12);      // 0W0
  expect(0, 4, 13, 18);     // 0B1
  EXPECT_THAT(timing.makespan, DoubleEq(18));
  EXPECT_THAT(timing.ranks[0].busy, DoubleEq(12));
  EXPECT_THAT(timing.bubble(1), DoubleEq(6));
  EXPECT_THAT(timing.ranks[1].wait(), DoubleEq(0));
  EXPECT_THAT(timing.bubbleFraction(1), DoubleEq(6.0 / 18));
  EXPECT_THAT(timing.bubbleFraction(), DoubleEq(12.0 / 36));
}

TEST(Timing, BubblesAreNoMoreThanTheMakespan) {
  const Table table = tableOf("0F0,0B0\n1F0,1B0\n");
  Costs costs = evenCosts(table, 1e-300, 0, 0);
  costs.transfer = 1e15;
  EXPECT_THAT(timingOf(table, costs).bubbleFraction(), DoubleEq(1));
  // Nothing takes any time.
  EXPECT_THAT(timingOf(table, evenCosts(table, 0, 0, 0)).bubbleFraction(),
              DoubleEq(0));
}

TEST(Timing, PairsAreOneAction) {
  const Table table = tableOf("0F0,1F0,1B0,(0F1;0B0)OVERLAP_F_B,1F1,1B1,0B1\n");
  Costs costs;
  costs.stages.resize(2);
  EXPECT_THAT(timingOf(table, costs).makespan, DoubleEq(12));
  EXPECT_THAT(timingOf(table, costs).rows[0][3].end, DoubleEq(7));
  EXPECT_THAT(timingOf(table, costs).rows[0][4].start, DoubleEq(4));
  costs.stages[0].overlapped = 2.25;
  EXPECT_THAT(timingOf(table, costs).makespan, DoubleEq(11.25));
  EXPECT_THAT(timingOf(table, costs).ranks[0].busy, DoubleEq(11.25));
}

TEST(Timing, PairsWaitForTheInputsOfBoth) {
  // 2B0 is there at 5, 0F1 could run before.
  const Table table =
      tableOf("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1B0,1F1,1B1\n");
  const Timing timing = timingOf(table, evenCosts(table, 1, 1, 1));
  EXPECT_THAT(timing.rows[0][1].start, DoubleEq(4));
  EXPECT_THAT(timing.rows[0][1].end, DoubleEq(7));
}

TEST(Timing, PeaksAreWeighted) {
  const Table table = tableOf("0F0,1F0,0F1,1I0,1F1,1W0,0B0,1B1,0B1\n");
  Costs costs;
  costs.stages = {{.activation = 1}, {.activation = 10}};
  const Timing timing = timingOf(table, costs);
  EXPECT_THAT(timing.peak(), DoubleEq(22));
  EXPECT_EQ(timing.ranks[0].peakSlots, 4);
}

TEST(Timing, FindsNoneWhereRanksWaitForEachOther) {
  const Table table = tableOf("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  EXPECT_FALSE(timeTable(table, evenCosts(table, 1, 1, 1)).has_value());
}

} // namespace
