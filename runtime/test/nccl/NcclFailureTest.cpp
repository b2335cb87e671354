//===- NcclFailureTest.cpp - Ranks that fail or do not come -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AnsweringPort.h"
#include "NcclJob.h"
#include "SamplePlan.h"

#include <gmock/gmock.h>

#include <signal.h>

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct NcclFailure : NcclJob {
  NcclFailure() : plan(SamplePlan(2).build()) {
    options.watchdog.deadline = 500ms;
    options.watchdog.patience = 1s;
  }

  /// Runs of train_step until one fails.
  static std::string runUntilFailure(NcclRank &rank, int runs = 1 << 30) {
    std::vector<float> values(16, 1), sums(16);
    DeviceCollective collective;
    collective.source = values.data();
    collective.destination = sums.data();
    collective.inner = 16;
    collective.instruction = 1;
    collective.cause = "gradient of w, summed over data";
    for (int i = 0; i < runs; ++i) {
      const Status status = rank.run(1, [&] {
        return rank.world.communicator(rank.rank, 0, 0)
            ->enqueue(collective, hostStream());
      });
      if (!status.ok()) {
        rank.world.abort(status);
        return status.message();
      }
    }
    return "ok";
  }
  std::vector<std::string> runAll() {
    return startAll(2, plan,
                    [](NcclRank &rank) { return runUntilFailure(rank); });
  }

  const Plan plan;
};

/// The device of rank 1 never comes to its third collective.
TEST_F(NcclFailure, RankThatDoesNotArrive) {
  fault = "late@1:3";
  const auto begin = std::chrono::steady_clock::now();
  const auto texts = runAll();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
  // Both have begun it: what tells them apart is known to NCCL alone.
  EXPECT_THAT(texts,
              Each(AllOf(HasSubstr("step 1 all_reduce on rank "),
                         HasSubstr("all its ranks have arrived, but it, or the "
                                   "computation after it, did not end within "),
                         HasSubstr("(gradient of w, summed over data, "
                                   "model.py:12)"))));
}

/// The host of rank 1 is between two runs.
TEST_F(NcclFailure, RankBetweenRuns) {
  const auto use = [](NcclRank &rank) -> std::string {
    if (rank.rank == 0)
      return runUntilFailure(rank);
    std::string text = runUntilFailure(rank, 3);
    while (rank.world.status().ok())
      std::this_thread::sleep_for(10ms);
    return rank.world.status().message();
  };
  const AnsweringPort port("OK\nNCCL version 2.28.9\nErrors\n======\n");
  ::setenv("NCCL_RAS_ADDR", port.address().c_str(), 1);
  const auto texts = startAll(2, plan, use);
  ::unsetenv("NCCL_RAS_ADDR");
  EXPECT_THAT(
      texts,
      Each("step 1 all_reduce on rank 0: rank 1 did not arrive within 500 ms "
           "(gradient of w, summed over data, model.py:12); rank 1 is between "
           "runs, after run 3"));
  const std::string report = load("weft-failure-rank-0.txt");
  EXPECT_THAT(report,
              AllOf(StartsWith("weft: rank 0 of 2, job \"\", start 0\n" +
                               texts[0] + "\n"),
                    HasSubstr("  rank 0 is in run 4 after the start of step 1 "
                              "all_reduce\n"),
                    HasSubstr("  rank 1 is between runs, after run 3\n"),
                    HasSubstr("\nwhat NCCL says of itself, which may call a "
                              "stuck operation healthy:\nNCCL version "
                              "2.28.9\nErrors\n======\n\nlast events"),
                    HasSubstr(" s run 4 entry 1 begins\n"),
                    HasSubstr(" s run 4 entry 1 step 1 enqueued\n")));
  // One process of a host asks.
  EXPECT_THAT(load("weft-failure-rank-1.txt"), Not(HasSubstr("NCCL says")));
  EXPECT_THAT(port.heard(), "timeout 1\nverbose status\n");
}

/// The computation of rank 1 before its collective never ends.
TEST_F(NcclFailure, RankBeforeItsCollective) {
  // So that no run before takes as long, also on a busy machine.
  options.watchdog.deadline = 2s;
  const auto use = [](NcclRank &rank) -> std::string {
    if (rank.rank == 0)
      return runUntilFailure(rank);
    (void)runUntilFailure(rank, 2);
    rank.world.beginRun(rank.rank, 1);
    while (rank.world.status().ok())
      std::this_thread::sleep_for(10ms);
    return rank.world.status().message();
  };
  EXPECT_THAT(startAll(2, plan, use),
              Each(HasSubstr("rank 1 did not arrive within 2 s (gradient of "
                             "w, summed over data, model.py:12); rank 1 is in "
                             "run 3 before its first collective")));
}

/// Rank 1 stays in the first iteration of a loop, behind its last collective;
/// rank 0 waits in the second, for an instruction that comes before it.
TEST_F(NcclFailure, RankInAnIterationBefore) {
  PlanBuilder builder({{"data", 2}});
  const uint32_t data = builder.group({"data"});
  EntryBuilder step = builder.entry("step");
  const auto sum = builder.type(DType::F32, {16});
  const uint32_t x = step.input("x", sum), y = step.output("y", sum),
                 z = step.output("z", sum);
  step.repeat(3, 4);
  step.start(plan::CollectiveKind::AllReduce, data, x, y, 1, 16);
  step.wait(0);
  step.start(plan::CollectiveKind::AllReduce, data, x, z, 1, 16);
  step.wait(1);
  step.table().arena_bytes = builder.table.arena_bytes;
  step.table().liveness_bytes = builder.table.arena_bytes;
  const auto use = [](NcclRank &rank) -> std::string {
    std::vector<float> values(16, 1), sums(16);
    DeviceCollective collective;
    collective.source = values.data();
    collective.destination = sums.data();
    collective.inner = 16;
    const Status status = rank.run(0, [&] {
      Status enqueued;
      for (int i = 0; i < (rank.rank == 0 ? 3 : 2) && enqueued.ok(); ++i) {
        collective.instruction = i % 2 == 0 ? 1 : 3;
        enqueued = rank.world.communicator(rank.rank, 0, 0)
                       ->enqueue(collective, hostStream());
      }
      while (rank.rank == 1 && rank.world.status().ok())
        std::this_thread::sleep_for(10ms);
      return enqueued;
    });
    rank.world.abort(status);
    return status.message();
  };
  EXPECT_THAT(startAll(2, builder.build(), use),
              Each(AllOf(StartsWith("step 1 all_reduce (iteration 2 of 3) on "
                                    "rank 0: rank 1 did not arrive within "),
                         HasSubstr("rank 1 is in run 1 after the start of "
                                   "step 3 all_reduce (iteration 1 of 3)"))));
}

/// Stops itself: a signal from outside may find it within a collective, where
/// the other rank would say, rightly, that all have arrived.
static std::string stopRankOne(NcclRank &rank) {
  if (rank.rank == 1) {
    (void)NcclFailure::runUntilFailure(rank, 3);
    ::raise(SIGSTOP);
  }
  return NcclFailure::runUntilFailure(rank);
}

TEST_F(NcclFailure, RankThatIsStopped) {
  options.watchdog.deadline = 30s;
  heartbeat = 1s;
  Process zero = start(0, 2, plan, stopRankOne),
          one = start(1, 2, plan, stopRankOne);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(zero.finish(), HasSubstr("rank 1 has not answered for 1 s; it is "
                                       "stopped or its machine hangs"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  one.kill(SIGKILL);
}

TEST_F(NcclFailure, RankThatIsStoppedWithoutAHeartbeat) {
  options.watchdog.deadline = 2s;
  heartbeat = 0s;
  const auto use = stopRankOne;
  Process zero = start(0, 2, plan, use), one = start(1, 2, plan, use);
  EXPECT_THAT(zero.finish(), HasSubstr("on rank 0: rank 1 did not arrive "
                                       "within 2 s"));
  one.kill(SIGKILL);
}

TEST_F(NcclFailure, RankThatIsKilled) {
  options.watchdog.deadline = 30s;
  const auto use = [](NcclRank &rank) { return runUntilFailure(rank); };
  const auto begin = std::chrono::steady_clock::now();
  Process zero = start(0, 2, plan, use), one = start(1, 2, plan, use);
  std::this_thread::sleep_for(500ms);
  one.kill(SIGKILL);
  // With the collective that it was in, if the rank sees it before the
  // watchdog.
  EXPECT_THAT(zero.finish(),
              HasSubstr("rank 1 ended without an error message; its own output "
                        "may say why"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 6s);
}

TEST_F(NcclFailure, RankWithTheStoreIsKilled) {
  options.watchdog.deadline = 30s;
  const auto use = [](NcclRank &rank) { return runUntilFailure(rank); };
  const auto begin = std::chrono::steady_clock::now();
  Process zero = start(0, 2, plan, use), one = start(1, 2, plan, use);
  std::this_thread::sleep_for(500ms);
  zero.kill(SIGKILL);
  EXPECT_THAT(one.finish(),
              HasSubstr("rank 0 has ended or its host cannot be reached"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 6s);
}

/// N15: what NCCL finds by itself is known to all ranks.
TEST_F(NcclFailure, AsynchronousError) {
  options.watchdog.deadline = 30s;
  fault = "error@1:3";
  EXPECT_THAT(runAll(),
              Each(HasSubstr("remote process exited or there was a network "
                             "error; another rank has failed, or the network "
                             "between the ranks")));
}

TEST_F(NcclFailure, CommunicatorThatIsNeverReady) {
  options.watchdog.setup = 700ms;
  fault = "init-hang@1";
  EXPECT_THAT(startAll(2, plan, [](NcclRank &) { return "ok"; }),
              Each(HasSubstr("creating the communicators of NCCL")));
}

/// N16: the process ends, and says why.
TEST_F(NcclFailure, AbortThatHangs) {
  fault = "abort-hang@1";
  const auto use = [](NcclRank &rank) -> std::string {
    if (rank.rank == 1)
      rank.world.abort(internalError("something of rank 1"));
    while (rank.world.status().ok())
      std::this_thread::sleep_for(10ms);
    return rank.world.status().message();
  };
  const auto texts = startAll(2, plan, use);
  EXPECT_EQ(texts[0], "something of rank 1");
  EXPECT_EQ(texts[1],
            "weft: error: rank 1 did not let go of its device within 1 s after "
            "the failure: something of rank 1\n exit 1");
}

} // namespace
} // namespace weft::runtime
