//===- StreamsTest.cpp - Tests of streams in virtual time -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Simulate/Streams.h"

#include "weft/Cost/ClusterFile.h"

#include <gmock/gmock.h>

using namespace weft;
using namespace weft::simulate;

namespace {

constexpr Picoseconds us = 1'000'000;

class StreamsTest : public testing::Test {
protected:
  cost::CostModel cost{*cost::loadCluster("dgx-h100").cluster};
  /// 200 us of kernel and 100 us of a collective, unless told otherwise.
  KernelTime kernel{KernelClass::Gemm, 0, 200 * us, 0};
  CollectiveTiming collective = makeCollective(100 * us, 8);

  CollectiveTiming makeCollective(Picoseconds duration, int64_t ranks) {
    CollectiveTiming made;
    made.call = {cost::CollectiveKind::AllReduce, 1 << 20,
                 cost.place({{ranks, 1}})};
    made.time.seconds = toSeconds(duration);
    made.duration = duration;
    made.node = {1, 2};
    made.sentBytes.resize(Streams::levelsOf(cost.cluster()));
    return made;
  }
  /// Of a software that issues a kernel each `issue`.
  static cost::CostModel issuing(double issue) {
    cost::Cluster cluster = *cost::loadCluster("dgx-h100").cluster;
    cluster.software.issueSeconds = issue;
    return cost::CostModel(std::move(cluster));
  }
  double computeFactor() const {
    return cost.contention(collective.call, collective.time, 0).computeFactor;
  }

  Streams streams{cost, 2, 1};
  const Communication &communication() const {
    return streams.usage.communication[0];
  }
};

TEST_F(StreamsTest, OneAfterTheOtherTakesTheSum) {
  streams.run(kernel, 0);
  streams.start(0, collective, 1);
  streams.wait(0, 1);
  EXPECT_EQ(streams.now, 300 * us);
  EXPECT_EQ(communication().exposed, 100 * us);
  EXPECT_EQ(communication().hidden(), 0);
  EXPECT_EQ(streams.usage.contention, 0);
}

TEST_F(StreamsTest, ACollectiveHidesBehindAKernelAndSlowsIt) {
  streams.start(0, collective, 0);
  streams.run(kernel, 1);
  streams.wait(0, 0);
  // While the collective runs, 100 us of the kernel take longer.
  const double alone = 100 / computeFactor();
  EXPECT_GT(computeFactor(), 1);
  EXPECT_NEAR(toSeconds(streams.now) * 1e6, 200 + 100 - alone, 1e-3);
  EXPECT_EQ(communication().exposed, 0);
  EXPECT_EQ(communication().total, 100 * us);
  EXPECT_EQ(streams.usage.kernels[0], streams.now);
  EXPECT_EQ(streams.usage.contention, streams.now - 200 * us);
}

TEST_F(StreamsTest, WhatIsNotHiddenIsExposed) {
  collective = makeCollective(500 * us, 8);
  streams.start(0, collective, 0);
  streams.run(kernel, 1);
  const Picoseconds computed = streams.now;
  streams.wait(0, 0);
  EXPECT_EQ(streams.now, 500 * us);
  EXPECT_EQ(communication().hidden(), computed);
  EXPECT_EQ(communication().exposed, 500 * us - computed);
}

TEST_F(StreamsTest, QueuesAreInOrder) {
  streams.start(0, collective, 0);
  streams.start(0, collective, 1);
  streams.wait(0, 1);
  EXPECT_EQ(streams.now, 200 * us);
  streams.wait(0, 0);
  EXPECT_EQ(streams.now, 200 * us);
}

TEST_F(StreamsTest, TwoQueuesShareLinks) {
  streams.start(0, collective, 0);
  streams.start(1, collective, 1);
  streams.wait(1, 1);
  EXPECT_EQ(streams.now, 200 * us);
  // Of two that run at once, what is waited for is exposed.
  EXPECT_EQ(communication().total, 400 * us);
  EXPECT_EQ(communication().exposed, 200 * us);
}

TEST_F(StreamsTest, ANodeAndTheNetworkShareNothing) {
  CollectiveTiming spread = makeCollective(100 * us, 8);
  spread.node = {};
  spread.network = {1, 2};
  streams.start(0, collective, 0);
  streams.start(1, spread, 1);
  streams.wait(1, 1);
  EXPECT_EQ(streams.now, 100 * us);
}

TEST_F(StreamsTest, WhoNeedsFewLinksLeavesTheRest) {
  // Held up between nodes, it needs a fifth of the links in a node.
  CollectiveTiming spread = makeCollective(200 * us, 16);
  spread.node = {0.2, 1};
  spread.network = {1, 2};
  streams.start(0, collective, 0);
  streams.start(1, spread, 1);
  streams.wait(0, 0);
  EXPECT_NEAR(toSeconds(streams.now), 125e-6, 1e-9);
  streams.wait(1, 1);
  EXPECT_EQ(streams.now, 200 * us);
}

TEST_F(StreamsTest, LaunchesAreOfTheHost) {
  kernel.launch = 5 * us;
  streams.run(kernel, 0);
  EXPECT_EQ(streams.now, 205 * us);
  EXPECT_EQ(streams.usage.host, 5 * us);
}

TEST_F(StreamsTest, AGroupOfOneTakesNoTime) {
  streams.start(0, makeCollective(0, 1), 0);
  streams.wait(0, 0);
  EXPECT_EQ(streams.now, 0);
}

TEST_F(StreamsTest, ACollectiveThatBlocksHidesBehindNothing) {
  collective.blocks = true;
  streams.start(0, collective, 0);
  streams.run(kernel, 1);
  streams.wait(0, 0);
  EXPECT_EQ(streams.now, 300 * us);
  EXPECT_EQ(communication().exposed, 100 * us);
}

TEST_F(StreamsTest, ACollectiveThatBlocksOvertakesOthers) {
  CollectiveTiming early = makeCollective(1000 * us, 8);
  early.node = {};
  early.network = {1, 2};
  collective.blocks = true;
  streams.start(0, early, 0);
  streams.start(0, collective, 1);
  EXPECT_EQ(streams.now, 100 * us);
}

TEST_F(StreamsTest, TheDeviceWaitsForASlowHost) {
  const cost::CostModel model = issuing(300e-6);
  Streams slow(model, 2, 1);
  for (uint32_t i = 0; i < 3; ++i)
    slow.run(kernel, i);
  EXPECT_EQ(slow.now, (3 * 300 + 200) * us);
  EXPECT_EQ(slow.usage.host, (300 + 100 + 100) * us);
}

TEST_F(StreamsTest, AFastHostRunsAheadUntilTheQueueOfLaunchesIsFull) {
  const cost::CostModel model = issuing(1e-6);
  Streams ahead(model, 2, 1);
  for (uint32_t i = 0; i < 10; ++i)
    ahead.run(kernel, i);
  EXPECT_EQ(ahead.now, (1 + 10 * 200) * us);
  // It is at most 256 matmuls ahead: shorter kernels than it issues then take
  // what it had won.
  kernel.duration = us / 2;
  for (uint32_t i = 0; i < 4000; ++i)
    ahead.run(kernel, i);
  EXPECT_EQ(ahead.now, (1 + 10 * 200) * us - 256 * us + 4000 * us + us / 2);
}

TEST_F(StreamsTest, TheHostIssuesWhatIsAroundAMatmulWithIt) {
  const cost::CostModel model = issuing(300e-6);
  Streams slow(model, 2, 1);
  const KernelTime other{KernelClass::Other, 0, 10 * us, 0};
  slow.run(kernel, 0);
  slow.start(0, collective, 1);
  slow.wait(0, 1);
  slow.run(other, 2);
  EXPECT_EQ(slow.usage.host, 300 * us);
  EXPECT_EQ(slow.now, (300 + 200 + 100 + 10) * us);
}

TEST_F(StreamsTest, RepeatsAStretch) {
  streams.run(kernel, 0);
  const Streams::Moment before = streams.moment();
  streams.start(0, collective, 1);
  streams.wait(0, 1);
  streams.repeat(before, 9);
  EXPECT_EQ(streams.now, 1200 * us);
  EXPECT_EQ(communication().exposed, 1000 * us);
  EXPECT_EQ(streams.usage.kernels[0], 200 * us);
}

} // namespace
