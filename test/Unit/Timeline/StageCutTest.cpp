//===- StageCutTest.cpp - Tests of cuts into stages -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/StageCut.h"

#include "weft/Timeline/Schedules.h"

#include <gmock/gmock.h>

#include <random>

using namespace weft::timeline;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

std::vector<RegionCosts> regionsOf(const std::vector<double> &forwards) {
  std::vector<RegionCosts> regions;
  for (double forward : forwards)
    regions.push_back({{.forward = forward,
                        .inputGradient = forward,
                        .weightGradient = forward},
                       0});
  return regions;
}

double makespanOf(const std::vector<RegionCosts> &regions, const Table &table,
                  const std::vector<int32_t> &cuts) {
  return timeTable(table, costsOfCut(regions, cuts))->makespan;
}

TEST(StageCut, MakesStagesEqual) {
  Table table = generate("1f1b", {.ranks = 3, .microbatches = 6}).table;
  EXPECT_THAT(cutIntoStages(regionsOf({1, 1, 1, 1, 1, 1}), table),
              ElementsAre(2, 4));
  // A head that is as heavy as two layers.
  EXPECT_THAT(cutIntoStages(regionsOf({1, 1, 1, 1, 1, 1, 1, 2}), table),
              ElementsAre(3, 6));
}

TEST(StageCut, NeedsARegionForEachStage) {
  Table table = generate("1f1b", {.ranks = 3, .microbatches = 6}).table;
  EXPECT_THAT(cutIntoStages(regionsOf({1, 1}), table), IsEmpty());
  EXPECT_THAT(cutIntoStages(regionsOf({5, 1, 1}), table), ElementsAre(1, 2));
}

TEST(StageCut, GivesEveryStageAParameter) {
  Table table = generate("1f1b", {.ranks = 3, .microbatches = 6}).table;
  std::vector<RegionCosts> regions = regionsOf({2, 2, 2, 2, 2, 2});
  // The cut {2, 4}, with equal stages, would leave the second one without.
  regions[2].usesParameter = regions[3].usesParameter = false;
  std::vector<int32_t> cuts = cutIntoStages(regions, table);
  ASSERT_EQ(cuts.size(), 2u);
  EXPECT_TRUE(cuts[0] < 2 || cuts[1] > 4) << cuts[0] << ", " << cuts[1];
  // As many regions with a parameter as stages: nothing is left to choose.
  regions[0].usesParameter = false;
  EXPECT_THAT(cutIntoStages(regions, table),
              testing::AllOf(testing::SizeIs(2), testing::Contains(5)));
  regions[5].usesParameter = false;
  EXPECT_THAT(cutIntoStages(regions, table), IsEmpty());
}

TEST(StageCut, SumsWhatItPutsTogether) {
  std::vector<RegionCosts> regions = regionsOf({1, 2, 4});
  regions[0].transfer = 8;
  regions[1].transfer = 0.5;
  Costs costs = costsOfCut(regions, std::vector<int32_t>{2});
  ASSERT_EQ(costs.stages.size(), 2u);
  EXPECT_THAT(costs.stages[0].forward, DoubleEq(3));
  EXPECT_THAT(costs.stages[0].activation, DoubleEq(2));
  EXPECT_THAT(costs.stages[1].weightGradient, DoubleEq(4));
  EXPECT_THAT(costs.transfer, DoubleEq(0.5));
}

/// Against all cuts: not always the best, which a local search need not find,
/// but near it.
TEST(StageCut, IsNearTheBestOfAllCuts) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> time(0.5, 2);
  double worst = 1, sum = 0;
  constexpr int cases = 60;
  for (int i = 0; i < cases; ++i) {
    std::vector<RegionCosts> regions;
    for (int region = 0; region < 10; ++region)
      regions.push_back({{.forward = time(random),
                          .inputGradient = time(random),
                          .weightGradient = time(random)},
                         0.1 * time(random)});
    const char *name = i % 2 ? "zb-v" : "1f1b";
    const int32_t ranks = i % 2 ? 2 : 4;
    Table table = generate(name, {.ranks = ranks, .microbatches = 8}).table;
    double least = 1e9;
    for (int32_t a = 1; a < 8; ++a)
      for (int32_t b = a + 1; b < 9; ++b)
        for (int32_t c = b + 1; c < 10; ++c)
          least = std::min(least, makespanOf(regions, table, {a, b, c}));
    const double found =
        makespanOf(regions, table, cutIntoStages(regions, table)) / least;
    worst = std::max(worst, found);
    sum += found;
  }
  EXPECT_LT(worst, 1.06);
  EXPECT_LT(sum / cases, 1.01);
}

} // namespace
