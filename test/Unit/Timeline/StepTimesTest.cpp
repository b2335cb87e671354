//===- StepTimesTest.cpp - Tests of times as text -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/StepTimes.h"

#include <gmock/gmock.h>

using namespace weft::timeline;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

TEST(StepTimes, OneValueIsOfEveryRank) {
  const ParsedCosts parsed = parseCosts("F:2,I:3,W:0.5", 2);
  EXPECT_THAT(parsed.errors, IsEmpty());
  const StageCosts stage = {2, 3, 0.5, std::nullopt, 1};
  EXPECT_THAT(parsed.costs.stages, ElementsAre(stage, stage));
}

TEST(StepTimes, AreOneUnlessGiven) {
  EXPECT_THAT(parseCosts("", 1).costs.stages, ElementsAre(StageCosts()));
}

TEST(StepTimes, ListsAreOfRanksOrStages) {
  EXPECT_THAT(parseCosts("F:1/2,A:3", 2).costs.stages,
              ElementsAre(StageCosts{1, 1, 1, std::nullopt, 3},
                          StageCosts{2, 1, 1, std::nullopt, 3}));
  // A single value stays that of a rank, which has two of the stages.
  EXPECT_THAT(parseCosts("F:1/2/3/4,FB:3", 2).costs.stages,
              ElementsAre(StageCosts{1, 0.5, 0.5, 1.5, 0.5},
                          StageCosts{2, 0.5, 0.5, 1.5, 0.5},
                          StageCosts{3, 0.5, 0.5, 1.5, 0.5},
                          StageCosts{4, 0.5, 0.5, 1.5, 0.5}));
}

TEST(StepTimes, ReportsAllProblems) {
  EXPECT_THAT(
      parseCosts("F:x,G:1,I:1,I:2,W:-1,FB", 2).errors,
      ElementsAre("times: found \"x\" in \"F:x\", expected a number from 0 to "
                  "1e15",
                  "times: found \"G:1\", expected KIND:TIME, as in F:1, with "
                  "the kind F, I, W, FB or A",
                  "times: found I more than once, expected one entry a kind",
                  "times: found \"-1\" in \"W:-1\", expected a number from 0 "
                  "to 1e15",
                  "times: found \"FB\", expected KIND:TIME, as in F:1, with "
                  "the kind F, I, W, FB or A"));
  EXPECT_THAT(
      parseCosts("F:1/2/3,I:1/2,W:1/2/3/4", 2).errors,
      ElementsAre("times: F has 3 values, expected 1, or one for each of 2 "
                  "ranks",
                  "times: W has 4 values, expected 1, or one for each of 2 "
                  "stages"));
}

TEST(Recut, SpreadsCostsEvenly) {
  Costs costs = parseCosts("F:1/3,FB:4", 2).costs;
  costs.transfer = 0.5;
  const Costs fine = recut(costs, 4);
  EXPECT_EQ(fine.transfer, 0.5);
  EXPECT_THAT(fine.stages, ElementsAre(StageCosts{0.5, 0.5, 0.5, 2, 0.5},
                                       StageCosts{0.5, 0.5, 0.5, 2, 0.5},
                                       StageCosts{1.5, 0.5, 0.5, 2, 0.5},
                                       StageCosts{1.5, 0.5, 0.5, 2, 0.5}));
  EXPECT_EQ(recut(fine, 2).stages, costs.stages);
}

} // namespace
