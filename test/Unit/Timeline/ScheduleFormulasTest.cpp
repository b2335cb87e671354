//===- ScheduleFormulasTest.cpp - Published formulas ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The published formulas for makespan and memory hold exactly.
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/LowerBound.h"

#include "Tables.h"

#include <algorithm>

using namespace weft::timeline;

namespace {

constexpr double tolerance = 1e-9;

double makespanOf(const Table &table, Times times) {
  return timingOf(table, evenCosts(table, times.forward, times.inputGradient,
                                   times.weightGradient))
      .makespan;
}

double sum(Times times) {
  return times.forward + times.inputGradient + times.weightGradient;
}

Timing unitTiming(const Table &table) {
  return timingOf(table, evenCosts(table, 1, 1, 1));
}

TEST(ScheduleFormulas, GPipeAndOneForwardOneBackward) {
  for (std::string_view name : {"gpipe", "1f1b", "eager-1f1b"})
    forEachSize([&](int32_t p, int32_t m) {
      const Table table = tableOf(name, {.ranks = p, .microbatches = m});
      forEachTimes([&](Times times) {
        EXPECT_NEAR(makespanOf(table, times), (m + p - 1) * sum(times),
                    tolerance)
            << name << ' ' << p << ' ' << m;
      });
    });
}

TEST(ScheduleFormulas, PeaksWithOneStageARank) {
  forEachSize([](int32_t p, int32_t m) {
    const auto peaks = [&](std::string_view name) {
      return unitTiming(tableOf(name, {.ranks = p, .microbatches = m})).ranks;
    };
    const auto gpipe = peaks("gpipe"), one = peaks("1f1b"),
               eager = peaks("eager-1f1b"), h1 = peaks("zb-h1");
    for (int32_t r = 0; r < p; ++r) {
      EXPECT_EQ(gpipe[r].peakSlots, m);
      EXPECT_EQ(one[r].peakSlots, std::min(m, p - r));
      EXPECT_EQ(eager[r].peakSlots, std::min(m, 2 * (p - r) - 1));
      EXPECT_EQ(h1[r].peakSlots, std::min(m, p));
      EXPECT_NEAR(one[r].peak, std::min(m, p - r), tolerance);
    }
    if (m >= 2 * p - 1)
      for (const RankTiming &rank : peaks("zb-h2"))
        EXPECT_EQ(rank.peakSlots, 2 * p - 1);
  });
}

TEST(ScheduleFormulas, Interleaved) {
  forEachSize([](int32_t p, int32_t m) {
    for (int32_t v = 1; v <= 4 && m % p == 0; ++v) {
      const Table table = tableOf("interleaved-1f1b", {p, m, v});
      forEachTimes([&](Times times) {
        EXPECT_NEAR(makespanOf(table, times), (m * v + p - 1) * sum(times) / v,
                    tolerance)
            << p << ' ' << m << ' ' << v;
      });
      const Timing timing = unitTiming(table);
      for (int32_t r = 0; r < p; ++r)
        EXPECT_EQ(timing.ranks[r].peakSlots,
                  std::min(m * v, (v - 1) * p + 2 * (p - 1 - r) + 1));
    }
  });
}

TEST(ScheduleFormulas, LoopedBreadthFirst) {
  forEachSize([](int32_t p, int32_t m) {
    for (int32_t v = 1; v <= 4 && m >= p; ++v) {
      const Table table = tableOf("looped-bfs", {p, m, v});
      forEachTimes([&](Times times) {
        EXPECT_NEAR(makespanOf(table, times),
                    m * sum(times) + (p - 1) * sum(times) / v, tolerance)
            << p << ' ' << m << ' ' << v;
      });
      EXPECT_NEAR(unitTiming(table).peak(), m, tolerance);
    }
  });
}

TEST(ScheduleFormulas, InterleavedZeroBubble) {
  forEachSize([](int32_t p, int32_t m) {
    for (int32_t v = 1; v <= 4 && m % p == 0; ++v) {
      const Table table =
          tableOf(v == 1 ? "zb-h1" : "interleaved-zb", {p, m, v});
      forEachTimes([&](Times times) {
        const auto [f, i, w] = times;
        const double expected = m * sum(times) + (p - 1) * (f + i - w) / v;
        // Longer weight gradients delay what comes after them.
        if (w <= std::min(f, i))
          EXPECT_NEAR(makespanOf(table, times), expected, tolerance)
              << p << ' ' << m << ' ' << v;
        else
          EXPECT_GT(makespanOf(table, times), expected);
      });
      const Timing timing = unitTiming(table);
      for (int32_t r = 0; r < p; ++r)
        EXPECT_EQ(timing.ranks[r].peakSlots, p * v)
            << p << ' ' << m << ' ' << v;
    }
  });
}

TEST(ScheduleFormulas, ZeroBubbleH2HasNoBubble) {
  forEachSize([](int32_t p, int32_t m) {
    if (m < 2 * p - 1)
      return;
    const Timing timing =
        unitTiming(tableOf("zb-h2", {.ranks = p, .microbatches = m}));
    for (const RankTiming &rank : timing.ranks)
      EXPECT_NEAR(rank.wait(), 0, tolerance) << p << ' ' << m;
  });
}

TEST(ScheduleFormulas, ZeroBubbleV) {
  forEachSize([](int32_t p, int32_t m) {
    if (m < 2 * p - 1)
      return;
    const Table table = tableOf("zb-v", {.ranks = p, .microbatches = m});
    for (const RankTiming &rank : unitTiming(table).ranks)
      EXPECT_NEAR(rank.end - rank.start, 3 * m, tolerance) << p << ' ' << m;
    forEachTimes([&](Times times) {
      const auto [f, i, w] = times;
      const Timing timing = timingOf(table, evenCosts(table, f, i, w));
      for (const RankTiming &rank : timing.ranks)
        EXPECT_EQ(rank.peakSlots, 2 * p) << p << ' ' << m;
    });
  });
}

TEST(ScheduleFormulas, DualPipeV) {
  forEachSize([](int32_t p, int32_t m) {
    if (m < 2 * p)
      return;
    const Table table = tableOf("dualpipev", {.ranks = p, .microbatches = m});
    for (Times times : {Times{1, 1, 1}, Times{1, 1, 0.5}, Times{2, 2, 1}}) {
      const auto [f, i, w] = times;
      // Of a chunk, which takes half of the time of a rank.
      const double perChunk = (f + i + w + i + w - 3 * w) / 2;
      EXPECT_NEAR(makespanOf(table, times), m * sum(times) + (p - 1) * perChunk,
                  tolerance)
          << p << ' ' << m;
    }
    // As with IZB.
    if (p > 1)
      EXPECT_GT(makespanOf(table, {1, 1, 1.25}), 3.25 * m + (p - 1) * 1.75 / 2);
    int32_t peak = 0;
    for (const RankTiming &rank : unitTiming(table).ranks)
      peak = std::max(peak, rank.peakSlots);
    EXPECT_EQ(peak, 2 * p + 1) << p << ' ' << m;
  });
}

/// No schedule is faster than the bound, and the bound of those that have no
/// bubble but what the first forwards cost is met.
TEST(ScheduleFormulas, LowerBound) {
  forEachSize([](int32_t p, int32_t m) {
    for (const NamedSchedule &schedule : namedSchedules()) {
      if (!admits(schedule.name, {.ranks = p, .microbatches = m}))
        continue;
      const Table table =
          tableOf(schedule.name, {.ranks = p, .microbatches = m});
      const Extent extent = extentOf(table);
      forEachTimes([&](Times times) {
        for (double transfer : {0., 0.3}) {
          const Costs costs =
              evenCosts(table, times.forward, times.inputGradient,
                        times.weightGradient, transfer);
          EXPECT_GE(
              timingOf(table, costs).makespan + tolerance,
              lowerBound(extent.placement, m, costs, extent.splitsBackward))
              << schedule.name << ' ' << p << ' ' << m;
        }
      });
      const Costs costs = evenCosts(table, 1, 1, 1);
      const double bound =
          lowerBound(extent.placement, m, costs, extent.splitsBackward);
      if (schedule.name == "1f1b" || schedule.name == "gpipe" ||
          (schedule.name == "zb-v" && m >= 2 * p - 1))
        EXPECT_NEAR(timingOf(table, costs).makespan, bound, tolerance);
    }
  });
}

} // namespace
