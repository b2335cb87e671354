//===- ArenaPlannerTest.cpp - Layouts of an arena -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/ArenaPlanner.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

using namespace weft;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// The lowest arena. Every layout can be pushed down in the order of its
/// offsets, so trying first fit in every order finds the optimum.
int64_t optimum(const std::vector<ArenaBuffer> &buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = std::numeric_limits<int64_t>::max();
  do {
    std::vector<int64_t> offsets(buffers.size(), -1);
    int64_t height = 0;
    for (size_t i : order) {
      auto clashes = [&](int64_t offset) {
        for (size_t j = 0; j < buffers.size(); ++j)
          if (offsets[j] >= 0 && buffers[j].first <= buffers[i].last &&
              buffers[i].first <= buffers[j].last &&
              offsets[j] < offset + buffers[i].bytes &&
              offset < offsets[j] + buffers[j].bytes)
            return true;
        return false;
      };
      int64_t offset = 0;
      while (clashes(offset))
        offset += arenaAlignment;
      offsets[i] = offset;
      height = std::max(height, offset + buffers[i].bytes);
    }
    best = std::min(best, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// The buffers of a training step: an activation of each layer lives until the
/// backward pass has used it, beside temporaries of all sizes.
std::vector<ArenaBuffer> trainingStep(int64_t layers, int64_t opsPerLayer,
                                      std::mt19937 &random) {
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  std::vector<ArenaBuffer> buffers;
  int64_t steps = 2 * layers * opsPerLayer;
  for (int64_t step = 0; step < steps; ++step) {
    int64_t bytes = 64 * draw(1, 64) * (int64_t(1) << draw(0, 6));
    bool saved = step < steps / 2 && draw(0, 2) == 0;
    int64_t last = saved ? steps - 1 - step + draw(0, 3)
                         : std::min(steps - 1, step + draw(1, 5));
    buffers.push_back({step, last, bytes});
  }
  return buffers;
}

TEST(ArenaPlanner, SharesBytesOfDisjointLifetimes) {
  std::vector<ArenaBuffer> buffers = {{0, 1, 64}, {1, 3, 64}, {2, 3, 64}};
  ArenaLayout layout = planArena(buffers);
  EXPECT_EQ(layout.bytes, 128);
  EXPECT_EQ(layout.offsets[0], layout.offsets[2]);
  EXPECT_THAT(checkArena(buffers, layout), IsEmpty());
}

TEST(ArenaPlanner, EmptyAndZeroSized) {
  EXPECT_EQ(planArena({}).bytes, 0);
  std::vector<ArenaBuffer> buffers = {{0, 4, 0}, {0, 4, 10}};
  ArenaLayout layout = planArena(buffers);
  EXPECT_EQ(layout.bytes, 64);
  EXPECT_THAT(checkArena(buffers, layout), IsEmpty());
}

TEST(ArenaPlanner, BoundCountsAlignedBytesAtOneStep) {
  EXPECT_EQ(livenessBound({}), 0);
  // The interval is closed: step 1 sees both.
  EXPECT_EQ(livenessBound({{0, 1, 1}, {1, 2, 65}}), 192);
  EXPECT_EQ(livenessBound({{0, 1, 1}, {2, 3, 65}}), 128);
  EXPECT_EQ(findPeak({{0, 1, 1}, {2, 3, 65}, {4, 5, 128}}).step, 2);
}

TEST(ArenaPlanner, NearTheOptimumOnSmallCases) {
  std::mt19937 random(1);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int64_t sum = 0, optimal = 0, hits = 0, cases = 150;
  for (int64_t i = 0; i < cases; ++i) {
    std::vector<ArenaBuffer> buffers;
    int64_t count = draw(2, 6);
    for (int64_t j = 0; j < count; ++j) {
      int64_t first = draw(0, 6);
      buffers.push_back({first, first + draw(0, 4), 64 * draw(1, 8)});
    }
    ArenaLayout layout = planArena(buffers);
    ASSERT_THAT(checkArena(buffers, layout), IsEmpty());
    int64_t best = optimum(buffers);
    ASSERT_GE(layout.bytes, best);
    ASSERT_GE(best, livenessBound(buffers));
    sum += layout.bytes;
    optimal += best;
    hits += layout.bytes == best;
  }
  RecordProperty("optimal_cases", int(hits));
  EXPECT_GE(hits, cases * 98 / 100);
  EXPECT_LE(double(sum) / double(optimal), 1.005);
}

TEST(ArenaPlanner, TrainingStepsWithinOnePercentOfTheBound) {
  std::mt19937 random(2);
  for (int64_t layers : {2, 12, 48}) {
    std::vector<ArenaBuffer> buffers = trainingStep(layers, 20, random);
    ArenaLayout layout = planArena(buffers);
    EXPECT_THAT(checkArena(buffers, layout), IsEmpty());
    EXPECT_LE(double(layout.bytes) / double(livenessBound(buffers)), 1.01)
        << layers << " layers";
  }
}

TEST(ArenaPlanner, TenThousandBuffersAndDeterministic) {
  std::mt19937 random(3);
  std::vector<ArenaBuffer> buffers = trainingStep(50, 100, random);
  ASSERT_EQ(buffers.size(), 10'000u);
  auto start = std::chrono::steady_clock::now();
  ArenaLayout layout = planArena(buffers);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  // Generous: builds without optimisation on a busy machine pass as well.
  EXPECT_LE(seconds.count(), 60.0);
  EXPECT_THAT(checkArena(buffers, layout), IsEmpty());
  EXPECT_LE(double(layout.bytes) / double(livenessBound(buffers)), 1.02);
  EXPECT_EQ(planArena(buffers).offsets, layout.offsets);
}

/// What is wrong, in words.
std::vector<std::string> textsOf(const std::vector<ArenaProblem> &problems) {
  std::vector<std::string> texts;
  for (const ArenaProblem &problem : problems)
    texts.push_back(problem.text);
  return texts;
}

TEST(ArenaCheck, FindsEveryKindOfError) {
  std::vector<ArenaBuffer> buffers = {{0, 2, 64}, {2, 3, 128}};
  auto check = [&](const ArenaLayout &layout) {
    return textsOf(checkArena(buffers, layout));
  };
  EXPECT_THAT(check({{0, 64}, 192}), IsEmpty());
  EXPECT_THAT(check({{0}, 192}), ElementsAre("expected 2 offsets, got 1"));
  EXPECT_THAT(
      check({{0, 65}, 256}),
      ElementsAre("buffer 1 [65, 193) does not start at a multiple of 64"));
  EXPECT_THAT(
      check({{-64, 64}, 192}),
      ElementsAre("buffer 0 [-64, 0) does not start at a multiple of 64"));
  EXPECT_THAT(
      check({{0, 64}, 128}),
      ElementsAre("buffer 1 [64, 192) ends above the arena of 128 bytes"));
  EXPECT_THAT(check({{64, 0}, 192}),
              ElementsAre("buffers 1 [0, 128) and 0 [64, 128) overlap while "
                          "both are alive at instruction 2"));
  buffers[0].last = 5;
  auto problems = checkArena(buffers, {{0, 0}, 192}, [](size_t i) {
    return i == 0 ? "\"a\"" : "\"b\"";
  });
  EXPECT_THAT(textsOf(problems),
              ElementsAre("buffers \"a\" [0, 64) and \"b\" [0, 128) overlap "
                          "while both are alive from instruction 2 to 3"));
  EXPECT_EQ(problems.front().buffer, 1u);
  EXPECT_THAT(checkArena({{0, 1, 64}, {2, 3, 128}}, {{64, 0}, 128}), IsEmpty());
}

} // namespace
