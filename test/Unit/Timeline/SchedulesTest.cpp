//===- SchedulesTest.cpp - Tests of the published schedules ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"

#include <gmock/gmock.h>

using namespace weft::timeline;
using testing::HasSubstr;

namespace {

std::string csvOf(std::string_view name, ScheduleSize size) {
  return printCsv(tableOf(name, size));
}

// The tables that PyTorch 2.9 writes, without their idle slots.

TEST(Schedules, GPipe) {
  EXPECT_EQ(csvOf("gpipe", {2, 3, 1}), "0F0,0F1,0F2,0B0,0B1,0B2\n"
                                       "1F0,1F1,1F2,1B0,1B1,1B2\n");
}

TEST(Schedules, OneForwardOneBackward) {
  EXPECT_EQ(csvOf("1f1b", {3, 4, 1}), "0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n"
                                      "1F0,1F1,1B0,1F2,1B1,1F3,1B2,1B3\n"
                                      "2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3\n");
}

TEST(Schedules, EagerOneForwardOneBackward) {
  EXPECT_EQ(csvOf("eager-1f1b", {2, 4, 1}),
            "0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n"
            "1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n");
}

TEST(Schedules, Interleaved) {
  EXPECT_EQ(csvOf("interleaved-1f1b", {2, 2, 2}),
            "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n"
            "1F0,1F1,3F0,3B0,3F1,3B1,1B0,1B1\n");
}

TEST(Schedules, LoopedBreadthFirst) {
  EXPECT_EQ(csvOf("looped-bfs", {2, 2, 2}),
            "0F0,0F1,2F0,2F1,2B1,2B0,0B1,0B0\n"
            "1F0,1F1,3F0,3F1,3B1,3B0,1B1,1B0\n");
}

TEST(Schedules, ZeroBubbleH1) {
  EXPECT_EQ(csvOf("zb-h1", {2, 4, 1}),
            "0F0,0F1,0I0,0W0,0F2,0I1,0W1,0F3,0I2,0W2,0I3,0W3\n"
            "1F0,1I0,1F1,1I1,1W0,1F2,1I2,1W1,1F3,1I3,1W2,1W3\n");
}

TEST(Schedules, ZeroBubbleH2) {
  EXPECT_EQ(csvOf("zb-h2", {2, 3, 1}), "0F0,0F1,0F2,0I0,0W0,0I1,0W1,0I2,0W2\n"
                                       "1F0,1I0,1F1,1I1,1F2,1I2,1W0,1W1,1W2\n");
}

TEST(Schedules, InterleavedZeroBubble) {
  EXPECT_EQ(csvOf("interleaved-zb", {2, 2, 2}),
            "0F0,0F1,2F0,2F1,2I0,2W0,2I1,2W1,0I0,0W0,0I1,0W1\n"
            "1F0,1F1,3F0,3I0,3F1,3I1,3W0,1I0,3W1,1I1,1W0,1W1\n");
}

TEST(Schedules, ZeroBubbleV) {
  EXPECT_EQ(csvOf("zb-v", {2, 4, 2}),
            "0F0,0F1,0F2,3F0,3I0,3W0,3F1,3I1,3W1,0F3,0I0,0W0,3F2,3I2,3W2,0I1,"
            "0W1,3F3,3I3,3W3,0I2,0W2,0I3,0W3\n"
            "1F0,2F0,1F1,2F1,2I0,2W0,1F2,1I0,1W0,2F2,2I1,2W1,1F3,1I1,1W1,2F3,"
            "2I2,2W2,1I2,2I3,1I3,1W2,2W3,1W3\n");
}

TEST(Schedules, ZeroBubbleVDropsWhatThereIsNot) {
  EXPECT_EQ(csvOf("zb-v", {2, 1, 2}), "0F0,3F0,3I0,3W0,0I0,0W0\n"
                                      "1F0,2F0,2I0,2W0,1I0,1W0\n");
}

TEST(Schedules, DualPipeV) {
  EXPECT_EQ(csvOf("dualpipev", {2, 4, 2}),
            "0F0,0F1,0F2,3F0,3I0,3W0,3F1,(0F3;3B1)OVERLAP_F_B,"
            "(3F2;0B0)OVERLAP_F_B,3B2,(3F3;0B1)OVERLAP_F_B,3B3,0I2,0W2,0I3,"
            "0W3\n"
            "1F0,2F0,1F1,2F1,1F2,2B0,(2F2;1B0)OVERLAP_F_B,"
            "(1F3;2B1)OVERLAP_F_B,(2F3;1B1)OVERLAP_F_B,2B2,1B2,2I3,1I3,2W3,"
            "1W3\n");
}

TEST(Schedules, HaveTheirStagesWhereTheirFoldSays) {
  for (const NamedSchedule &schedule : namedSchedules()) {
    const Extent extent =
        extentOf(tableOf(schedule.name, {.ranks = 3, .microbatches = 6}));
    EXPECT_EQ(extent.placement,
              placementOf(schedule.fold, 3, schedule.defaultChunks))
        << schedule.name;
    EXPECT_EQ(extent.splitsBackward, schedule.splitsBackward) << schedule.name;
  }
}

TEST(Schedules, TakeOneRankAndOneMicrobatch) {
  for (const NamedSchedule &schedule : namedSchedules())
    for (int32_t m : {1, 2, 3})
      if (admits(schedule.name, {.ranks = 1, .microbatches = m})) {
        const Table table = tableOf(schedule.name, {1, m, 0});
        EXPECT_NEAR(timingOf(table, evenCosts(table, 1, 1, 1)).makespan, 3 * m,
                    1e-9)
            << schedule.name;
      }
}

TEST(Schedules, SayWhatTheyAdmit) {
  EXPECT_EQ(generate("zb-v", {4, 8, 3}).error,
            "schedule zb-v admits chunks = 2, got ranks = 4, microbatches = 8 "
            "and chunks = 3");
  EXPECT_EQ(generate("1f1b", {4, 8, 2}).error,
            "schedule 1f1b admits chunks = 1, got ranks = 4, microbatches = 8 "
            "and chunks = 2");
  EXPECT_EQ(
      generate("zb-h2", {4, 6, 0}).error,
      "schedule zb-h2 admits chunks = 1 and microbatches >= 2 * ranks - "
      "1, got ranks = 4, microbatches = 6 and chunks = 1; microbatches = 7 "
      "would do");
  EXPECT_EQ(
      generate("dualpipev", {4, 7, 0}).error,
      "schedule dualpipev admits chunks = 2 and microbatches >= 2 * "
      "ranks, got ranks = 4, microbatches = 7 and chunks = 2; microbatches "
      "= 8 would do");
  EXPECT_EQ(generate("interleaved-1f1b", {4, 9, 0}).error,
            "schedule interleaved-1f1b admits multiples of max(1, "
            "floor(microbatches / ranks)) as microbatches, got ranks = 4, "
            "microbatches = 9 and chunks = 2; microbatches = 8 or 10 would do");
  EXPECT_TRUE(admits("interleaved-1f1b", {4, 10, 0}));
}

TEST(Schedules, RefuseSizesThatNoTableHas) {
  EXPECT_THAT(generate("1F1B", {4, 8, 0}).error,
              HasSubstr("unknown schedule \"1F1B\"; there are gpipe, 1f1b, "));
  EXPECT_EQ(generate("1f1b", {0, 8, 1}).error,
            "ranks, microbatches and chunks must be at least 1, got ranks = 0, "
            "microbatches = 8 and chunks = 1");
  EXPECT_EQ(generate("1f1b", {5000, 1, 1}).error,
            "a pipeline must have at most 4096 ranks, got ranks = 5000, "
            "microbatches = 1 and chunks = 1");
  EXPECT_EQ(generate("1f1b", {4000, 2000000000, 1}).error,
            "a table must have at most 20000000 actions, which is fewer than "
            "it takes for ranks = 4000, microbatches = 2000000000 and chunks = "
            "1");
}

} // namespace
