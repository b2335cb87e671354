//===- AutoScheduleTest.cpp - Tests of the search -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/AutoSchedule.h"

#include "Tables.h"
#include "weft/Timeline/LowerBound.h"
#include "weft/Timeline/TableRules.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace weft::timeline;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// Every stage another time, the last one the longest: it has the head.
AutoRequest unevenRequest(int32_t p, int32_t m, double transfer = 0) {
  AutoRequest request;
  request.size = {.ranks = p, .microbatches = m};
  for (int32_t s = 0; s < p; ++s) {
    const double layers = 1 + 0.2 * (s * 7 % 3) + (s + 1 == p ? 0.5 : 0);
    request.costs.stages.push_back({.forward = layers,
                                    .inputGradient = 1.2 * layers,
                                    .weightGradient = 0.9 * layers});
  }
  request.costs.transfer = transfer;
  return request;
}

/// Checks the table of an answer and returns its makespan.
double check(const AutoRequest &request, const AutoSchedule &found) {
  EXPECT_EQ(found.error, "");
  EXPECT_THAT(findProblems(found.table), IsEmpty());
  const Extent extent = extentOf(found.table);
  EXPECT_EQ(extent.microbatches, request.size.microbatches);
  const Costs costs = recut(request.costs, extent.stages);
  const Timing timing = timingOf(found.table, costs);
  const double limit = request.memoryLimit.value_or(1e9);
  EXPECT_LE(timing.peak(), limit + 1e-9);
  EXPECT_GE(
      timing.makespan + 1e-9,
      lowerBoundWithin(limit, extent.placement, extent.microbatches, costs));
  if (!found.named.empty()) {
    EXPECT_LE(timing.makespan, found.named.front().makespan + 1e-9);
  }
  return timing.makespan;
}

TEST(AutoSchedule, UnitsDoNotMatter) {
  AutoRequest request = unevenRequest(5, 7, 0.1);
  request.memoryLimit = 5;
  const AutoSchedule wanted = findFastest(request);
  AutoRequest small = request;
  const double seconds = std::exp2(-40), bytes = std::exp2(30);
  small.costs.transfer *= seconds;
  *small.memoryLimit *= bytes;
  for (StageCosts &stage : small.costs.stages) {
    stage.forward *= seconds;
    stage.inputGradient *= seconds;
    stage.weightGradient *= seconds;
    stage.activation *= bytes;
  }
  const AutoSchedule found = findFastest(small);
  EXPECT_EQ(found.table, wanted.table);
  ASSERT_EQ(found.named.size(), wanted.named.size());
  for (size_t i = 0; i < found.named.size(); ++i) {
    EXPECT_EQ(found.named[i].name, wanted.named[i].name);
    EXPECT_EQ(found.named[i].makespan, wanted.named[i].makespan * seconds);
    EXPECT_EQ(found.named[i].peak, wanted.named[i].peak * bytes);
  }
}

TEST(AutoSchedule, IsNeverSlowerThanThePublishedSchedules) {
  for (int32_t p : {2, 3, 4})
    for (int32_t m : {1, p, 2 * p})
      for (double transfer : {0., 0.2})
        for (double limit : {1e9, double(p), p / 2 + 1.0}) {
          AutoRequest request = unevenRequest(p, m, transfer);
          request.memoryLimit = limit;
          const AutoSchedule found = findFastest(request);
          const double makespan = check(request, found);
          for (const NamedSchedule &schedule : namedSchedules()) {
            const ScheduleSize size = {.ranks = p, .microbatches = m};
            if (!admits(schedule.name, size))
              continue;
            const Table table = tableOf(schedule.name, size);
            const Timing timing =
                timingOf(table, recut(request.costs, extentOf(table).stages));
            if (timing.peak() <= limit + 1e-9)
              EXPECT_LE(makespan, timing.makespan + 1e-9) << schedule.name;
          }
        }
}

TEST(AutoSchedule, IsFasterWhereStagesDiffer) {
  AutoRequest request = unevenRequest(4, 8);
  request.memoryLimit = 3;
  const AutoSchedule found = findFastest(request);
  EXPECT_LT(check(request, found), 0.98 * found.named.front().makespan);
}

TEST(AutoSchedule, IsAPublishedScheduleWhereThatIsBest) {
  AutoRequest request;
  request.size = {.ranks = 4, .microbatches = 8};
  request.costs.stages.resize(4);
  request.memoryLimit = 4;
  EXPECT_NEAR(check(request, findFastest(request)), 25.5, 1e-9);
}

TEST(AutoSchedule, IsTheSameEveryTime) {
  const AutoRequest request = unevenRequest(3, 6, 0.1);
  EXPECT_EQ(findFastest(request).table, findFastest(request).table);
}

TEST(AutoSchedule, KeepsTheChunksThatAreAskedFor) {
  for (int32_t chunks : {1, 2, 3}) {
    AutoRequest request = unevenRequest(2, 4);
    request.size.chunks = chunks;
    const AutoSchedule found = findFastest(request);
    check(request, found);
    EXPECT_EQ(extentOf(found.table).stages, 2 * chunks);
  }
}

TEST(AutoSchedule, WeighsActivations) {
  // The first stage keeps four times as much as the others.
  AutoRequest request = unevenRequest(3, 6);
  request.costs.stages[0].activation = 4;
  request.memoryLimit = 8;
  check(request, findFastest(request));
}

TEST(AutoSchedule, SaysWhatALimitWouldHaveToBe) {
  AutoRequest request = unevenRequest(4, 8);
  request.memoryLimit = 0.5;
  EXPECT_EQ(findFastest(request).error,
            "no schedule fits the memory limit of 0.5 activations per rank; "
            "one micro-batch at a time needs 1");
  EXPECT_EQ(findFastest(request).leastMemory, 1);
  request.memoryLimit = 1;
  check(request, findFastest(request));
  request.size.chunks = 2;
  check(request, findFastest(request));
}

TEST(AutoSchedule, RefusesSizesThatNoTableHas) {
  AutoRequest request = unevenRequest(4, 8);
  request.size.ranks = 5000;
  EXPECT_THAT(findFastest(request).error,
              HasSubstr("a pipeline must have at most 4096 ranks"));
  request.size = {.ranks = 100, .microbatches = 10000};
  EXPECT_EQ(findFastest(request).error,
            "a search is for tables of at most 1000000 actions, got 3e+06");
}

} // namespace
