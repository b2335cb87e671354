//===- ThreadTeamTest.cpp - The threads of a rank ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cpu/ThreadTeam.h"

#include <gmock/gmock.h>

#include <atomic>
#include <vector>

namespace weft::runtime {
namespace {

TEST(ThreadTeam, EveryTaskIsDoneOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadTeam team(threads);
    ASSERT_EQ(team.size(), threads);
    for (int64_t tasks : {0, 1, 2, 3, 64}) {
      std::vector<std::atomic<int>> times(tasks);
      team.run(tasks, [&](int64_t task, int) { ++times[task]; });
      for (const auto &count : times)
        EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadTeam, OneTaskAtATimeForEachThread) {
  ThreadTeam team(4);
  std::vector<std::atomic<int>> inside(4);
  for (int run = 0; run < 200; ++run)
    team.run(32, [&](int64_t, int thread) {
      ASSERT_LT(thread, 4);
      EXPECT_EQ(inside[thread].fetch_add(1), 0);
      inside[thread].fetch_sub(1);
    });
}

TEST(ThreadTeam, ResultsAreThereWhenARunReturns) {
  ThreadTeam team(3);
  std::vector<int64_t> values(100);
  for (int64_t run = 1; run <= 2000; ++run) {
    const int64_t tasks = 1 + run % 7;
    team.run(tasks, [&](int64_t task, int) { values[task] = run + task; });
    for (int64_t task = 0; task < tasks; ++task)
      ASSERT_EQ(values[task], run + task);
  }
}

} // namespace
} // namespace weft::runtime
