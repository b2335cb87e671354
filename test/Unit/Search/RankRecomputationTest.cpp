//===- RankRecomputationTest.cpp - What ranks of a pipeline recompute -----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Search/RankRecomputation.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace weft;

/// As "3" and "4:dots".
static std::vector<std::string> rangesOf(const std::vector<RankMemory> &ranks,
                                         int64_t limit) {
  auto plan = planRanks(ranks, limit);
  std::vector<std::string> ranges;
  if (!plan)
    return {"none"};
  for (const RecomputedRange &range : plan->ranges) {
    EXPECT_EQ(range.end, range.begin + 1);
    ranges.push_back(std::to_string(range.begin) +
                     (range.keepsDots ? ":dots" : ""));
  }
  return ranges;
}

TEST(RankRecomputation, EachRankAsMuchAsItHasTooMuch) {
  // Of two regions each; the first rank has twice as many micro-batches.
  const KeptRegion whole{40, 40, 100, 10}, half{20, 20, 100, 10};
  const std::vector<RankMemory> ranks = {{100, {{0, whole}, {1, whole}}},
                                         {60, {{2, half}, {3, half}}}};
  using testing::ElementsAre, testing::IsEmpty;
  EXPECT_THAT(rangesOf(ranks, 100), IsEmpty());
  EXPECT_THAT(rangesOf(ranks, 60), ElementsAre("0"));
  EXPECT_THAT(rangesOf(ranks, 59), ElementsAre("0", "1", "2"));
  EXPECT_EQ(planRanks(ranks, 59)->work, 200);
  EXPECT_THAT(rangesOf(ranks, 20), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(rangesOf(ranks, 19), ElementsAre("none"));
}

TEST(RankRecomputation, MatmulsLast) {
  const KeptRegion region{40, 30, 100, 1};
  const std::vector<RankMemory> ranks = {{90, {{5, region}, {6, region}}}};
  using testing::ElementsAre;
  EXPECT_THAT(rangesOf(ranks, 80), ElementsAre("5:dots"));
  EXPECT_THAT(rangesOf(ranks, 70), ElementsAre("5:dots", "6:dots"));
  EXPECT_THAT(rangesOf(ranks, 50), ElementsAre("5"));
  EXPECT_THAT(rangesOf(ranks, 40), ElementsAre("5:dots", "6"));
}

/// The least work that is enough, of all ways to recompute.
static double leastFlops(const RankMemory &rank, int64_t limit) {
  std::vector<KeptRegion> regions;
  for (const auto &[number, region] : rank.regions)
    regions.push_back(region);
  double least = std::numeric_limits<double>::infinity();
  size_t ways = 1;
  for (size_t i = 0; i < regions.size(); ++i)
    ways *= 3;
  for (size_t way = 0; way < ways; ++way) {
    int64_t bytes = rank.bytes;
    double work = 0;
    size_t rest = way;
    for (const KeptRegion &region : regions) {
      if (rest % 3 == 1) {
        bytes -= region.bytes - region.dotBytes;
        work += region.dotWork;
      } else if (rest % 3 == 2) {
        bytes -= region.bytes;
        work += region.work;
      }
      rest /= 3;
    }
    if (bytes <= limit)
      least = std::min(least, work);
  }
  return least;
}

TEST(RankRecomputation, NearTheLeastWorkOfRandomRanks) {
  std::mt19937 random(7);
  auto draw = [&](int64_t most) { return int64_t(random() % (most + 1)); };
  double sum = 0, worst = 0;
  int found = 0;
  for (int i = 0; i < 2000; ++i) {
    RankMemory rank{20, {}};
    for (size_t region = 0, count = 1 + draw(6); region < count; ++region) {
      KeptRegion &of = rank.regions[region];
      of.bytes = draw(30);
      of.dotBytes = draw(40);
      of.work = 1 + double(draw(50));
      of.dotWork = double(draw(int64_t(of.work)));
      rank.bytes += of.bytes;
    }
    const int64_t limit = draw(rank.bytes);
    const double least = leastFlops(rank, limit);
    const auto plan = planRanks({rank}, limit);
    if (!plan) {
      // Keeping more matmuls than there is now is no way to free memory.
      EXPECT_GT(rank.bytes, limit);
      EXPECT_LT(limit, 20);
      continue;
    }
    int64_t bytes = rank.bytes;
    for (const RecomputedRange &range : plan->ranges) {
      const KeptRegion &region = rank.regions.at(range.begin);
      bytes -= region.bytes - (range.keepsDots ? region.dotBytes : 0);
    }
    EXPECT_LE(bytes, limit);
    const double ratio = least > 0 ? plan->work / least : 1;
    worst = std::max(worst, ratio);
    sum += ratio;
    ++found;
  }
  EXPECT_GT(found, 1300);
  EXPECT_LT(sum / found, 1.05);
  EXPECT_LE(worst, 2);
}
