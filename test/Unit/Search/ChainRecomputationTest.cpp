//===- ChainRecomputationTest.cpp - What a chain keeps and recomputes -----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainSearch.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <random>

using namespace weft;
using testing::ElementsAre;
using testing::IsEmpty;

namespace weft {
static bool operator==(const RecomputedRange &a, const RecomputedRange &b) {
  return a.begin == b.begin && a.end == b.end && a.keepsDots == b.keepsDots;
}
static void PrintTo(const RecomputedRange &range, std::ostream *os) {
  *os << "[" << range.begin << ", " << range.end << ")"
      << (range.keepsDots ? " dots" : "");
}
} // namespace weft

/// Equal regions with an input of 1 byte.
static std::vector<ChainRegion> uniform(size_t length, int64_t values) {
  ChainRegion region;
  region.inputBytes = 1;
  region.valueBytes = values;
  region.work = 10;
  return std::vector<ChainRegion>(length, region);
}

static std::vector<RecomputedRange>
rangesOf(const std::vector<ChainRegion> &regions, int64_t limit) {
  auto plan = planChain(regions, limit, limit);
  EXPECT_TRUE(plan);
  return plan ? plan->ranges : std::vector<RecomputedRange>();
}

TEST(ChainRecomputation, WithRoomNothingIsComputedAgain) {
  EXPECT_THAT(rangesOf({}, 0), IsEmpty());
  EXPECT_THAT(rangesOf(uniform(4, 4), 20), IsEmpty());
}

TEST(ChainRecomputation, AsMuchAsNecessary) {
  using Range = RecomputedRange;
  // One region again, then ranges within ranges: the example of the header.
  EXPECT_THAT(rangesOf(uniform(4, 4), 16), ElementsAre(Range{2, 3}));
  EXPECT_THAT(rangesOf(uniform(4, 4), 12),
              ElementsAre(Range{1, 2}, Range{2, 3}));
  EXPECT_EQ(planChain(uniform(4, 4), 12, 12)->work, 20);
  EXPECT_THAT(rangesOf(uniform(4, 4), 6),
              ElementsAre(Range{0, 3}, Range{0, 2}, Range{0, 1}));
  EXPECT_EQ(planChain(uniform(4, 4), 6, 6)->work, 30 + 20 + 10);
}

TEST(ChainRecomputation, NoPlanFits) {
  // The last region and the input before it, the chain's input, and its own.
  EXPECT_FALSE(planChain(uniform(4, 4), 5, 5));
  EXPECT_TRUE(planChain(uniform(4, 4), 6, 6));
  EXPECT_FALSE(planChain(uniform(4, 4), -1, 5));
}

TEST(ChainRecomputation, ProductsAreKeptWhereTheyAreWorthTheirBytes) {
  std::vector<ChainRegion> regions = uniform(3, 4);
  for (ChainRegion &region : regions)
    region.dots = PartialKeep{2, 1};
  // Without them 10 work for 4 bytes, with them 1 for 2.
  EXPECT_THAT(rangesOf(regions, 13), ElementsAre(RecomputedRange{1, 2, true}));
}

TEST(ChainRecomputation, WhatIsAliveBesideTheChainCounts) {
  std::vector<ChainRegion> regions = uniform(2, 4);
  regions[1].besideBytes = 100;
  EXPECT_THAT(rangesOf(regions, 110), IsEmpty());
  EXPECT_THAT(rangesOf(regions, 106), ElementsAre(RecomputedRange{0, 1}));
  regions[0].besideBytes = 1000;
  EXPECT_FALSE(planChain(regions, 1004, 1004));
}

TEST(ChainRecomputation, LongChainsTakeCoarserUnits) {
  std::vector<ChainRegion> regions = uniform(200, 1 << 20);
  auto plan = planChain(regions, int64_t(40) << 20);
  ASSERT_TRUE(plan);
  EXPECT_GT(plan->work, 0);
  EXPECT_LT(plan->work, 2 * 200 * 10);
}

namespace {

struct Distance {
  int compared = 0, equal = 0, missed = 0;
  double worst = 1, sum = 0;
};

class Chains {
public:
  std::vector<ChainRegion> draw(int length) {
    std::vector<ChainRegion> regions(length);
    for (ChainRegion &region : regions) {
      region.inputBytes = number(1, 3);
      region.valueBytes = number(2, 9);
      region.work = number(1, 20);
      region.besideBytes = number(0, 3);
      if (number(0, 1))
        region.dots = PartialKeep{number(1, int(region.valueBytes)),
                                  double(number(0, int(region.work)))};
    }
    return regions;
  }

private:
  int number(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(engine);
  }
  std::mt19937 engine{2019};
};

} // namespace

/// Work of one whole step that recomputes so much, forward only.
static double total(const std::vector<ChainRegion> &regions, double again) {
  for (const ChainRegion &region : regions)
    again += region.work;
  return again;
}

/// planChain against all schedules, at each limit.
static void compare(const std::vector<ChainRegion> &regions, Dropping inputs,
                    Distance &distance) {
  int64_t most = 0;
  for (const ChainRegion &region : regions)
    most += region.inputBytes + region.valueBytes + region.besideBytes;
  for (int64_t limit = 1; limit <= most; ++limit) {
    auto plan = planChain(regions, limit, limit);
    auto best = searchChain(regions, limit, inputs);
    if (!best) {
      EXPECT_FALSE(plan) << "a plan under a limit that nothing stays under";
      continue;
    }
    ++distance.compared;
    if (!plan) {
      ++distance.missed;
      continue;
    }
    EXPECT_GE(plan->work, *best) << "better than all schedules";
    double ratio = total(regions, plan->work) / total(regions, *best);
    distance.equal += plan->work == *best;
    distance.worst = std::max(distance.worst, ratio);
    distance.sum += ratio;
  }
}

static Distance measure(const char *what, Dropping inputs) {
  Chains chains;
  Distance distance;
  for (int i = 0; i < 60; ++i)
    compare(chains.draw(2 + i % 3), inputs, distance);
  std::printf("%s: of %d chains and limits %d optimal, %d without a plan; "
              "forward work %.4f times the least on average, %.3f at most\n",
              what, distance.compared, distance.equal, distance.missed,
              distance.sum / (distance.compared - distance.missed),
              distance.worst);
  return distance;
}

TEST(ChainRecomputation, DistanceToTheBestThatCheckpointsCanDo) {
  Distance distance = measure("with inputs", Dropping::WithValues);
  EXPECT_EQ(distance.missed, 0);
  EXPECT_GE(distance.equal, 0.97 * distance.compared);
  EXPECT_LE(distance.worst, 1.4);
}

TEST(ChainRecomputation, DistanceToTheBestOfAllSchedules) {
  Distance distance = measure("all schedules", Dropping::Freely);
  EXPECT_EQ(distance.missed, 0);
  EXPECT_GE(distance.equal, 0.8 * distance.compared);
  EXPECT_LE(distance.worst, 1.7);
}
