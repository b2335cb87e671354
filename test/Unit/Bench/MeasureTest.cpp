//===- MeasureTest.cpp - Batches of calls ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Measure.h"

#include "gtest/gtest.h"

using namespace weft::tools;
using weft::runtime::Status;

TEST(MeasureTest, MedianOfEvenAndOddCounts) {
  EXPECT_EQ(medianOf({3, 1, 2}), 2);
  EXPECT_EQ(medianOf({4, 1, 2, 3}), 2.5);
}

TEST(MeasureTest, BestAndMedianOfCpuTimeAndTheClock) {
  // In the second batch somebody else had the core, in the third the memory.
  const Timing timing =
      summarize({{10, 1.0, 1.0}, {10, 5.0, 1.1}, {10, 2.0, 2.0}});
  EXPECT_DOUBLE_EQ(timing.best, 0.1);
  EXPECT_DOUBLE_EQ(timing.median, 0.11);
  EXPECT_DOUBLE_EQ(timing.wall, 0.2);
  EXPECT_EQ(timing.calls, 30);
  EXPECT_TRUE(timing.isBusy());
  EXPECT_FALSE(summarize({{1, 1.0, 1.0}}).isBusy());
}

TEST(MeasureTest, ShortCallsAreRepeated) {
  EXPECT_EQ(callsOfBatch(1), 1);
  EXPECT_EQ(callsOfBatch(1e-5), 200);
  EXPECT_EQ(callsOfBatch(0), 100'000);
}

TEST(MeasureTest, ThreeBatchesHoweverLittleTimeThereIs) {
  int calls = 0;
  const auto timing = measure(0, [&] {
    ++calls;
    return Status();
  });
  ASSERT_TRUE(timing.ok());
  // One to warm up, and one to see how long it takes.
  EXPECT_EQ(calls, timing->calls + 2);
  EXPECT_EQ(timing->calls % 3, 0);
}

TEST(MeasureTest, FailuresEndIt) {
  const auto timing =
      measure(1, [] { return weft::runtime::internalError("broken"); });
  EXPECT_EQ(timing.status().message(), "broken");
}
