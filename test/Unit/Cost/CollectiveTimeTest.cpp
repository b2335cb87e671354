//===- CollectiveTimeTest.cpp - Algorithms, and what they take ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/ClusterFile.h"
#include "weft/Cost/CostModel.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace weft;
using namespace weft::cost;

static Cluster load(const char *name) { return *loadCluster(name).cluster; }

static CollectiveTime time(const Cluster &cluster, CollectiveKind kind,
                           double bytes, int64_t ranks, int64_t stride = 1) {
  return collectiveTime(
      cluster, {kind, bytes, placeGroup(cluster, {{ranks, stride}})}, {});
}

static constexpr auto allReduce = CollectiveKind::AllReduce,
                      allGather = CollectiveKind::AllGather,
                      reduceScatter = CollectiveKind::ReduceScatter,
                      allToAll = CollectiveKind::AllToAll,
                      permute = CollectiveKind::Permute,
                      exchange = CollectiveKind::Exchange;
static constexpr double kilobyte = 1024, gigabyte = 1 << 30;

TEST(CollectiveTimeTest, NothingForOneRankOrNoBytes) {
  const Cluster cluster = load("dgx-h100");
  EXPECT_EQ(time(cluster, allReduce, gigabyte, 1).seconds, 0);
  EXPECT_EQ(time(cluster, allReduce, 0, 8).seconds, 0);
}

TEST(CollectiveTimeTest, AlgorithmBySizeAndPlace) {
  const Cluster h100 = load("dgx-h100"), a100 = load("dgx-a100");
  EXPECT_EQ(time(h100, allReduce, gigabyte, 8).algorithm, Algorithm::InSwitch);
  EXPECT_EQ(time(h100, allReduce, kilobyte, 8).protocol, Protocol::LL);
  EXPECT_EQ(time(a100, allReduce, gigabyte, 8).algorithm, Algorithm::Ring);
  EXPECT_EQ(time(a100, allReduce, gigabyte, 8).protocol, Protocol::Simple);
  EXPECT_EQ(nameOf(time(h100, allReduce, gigabyte, 64).algorithm),
            "in-switch tree");
  EXPECT_EQ(time(a100, allReduce, kilobyte, 1024).algorithm, Algorithm::Tree);
  EXPECT_EQ(time(h100, allGather, gigabyte, 8).algorithm, Algorithm::Ring);
  EXPECT_EQ(time(h100, allGather, gigabyte / 16, 64, 8).algorithm,
            Algorithm::Pat);
  EXPECT_EQ(time(h100, allToAll, gigabyte, 8).algorithm, Algorithm::Pairwise);
  EXPECT_EQ(time(h100, permute, gigabyte, 8).algorithm, Algorithm::Direct);
  EXPECT_EQ(time(h100, exchange, gigabyte, 8).algorithm, Algorithm::Direct);
}

TEST(CollectiveTimeTest, SwitchesOfTheNetworkReduce) {
  Cluster cluster = load("dgx-h100");
  const double before = time(cluster, allReduce, gigabyte, 64).seconds;
  cluster.network->inNetworkReduction = true;
  const CollectiveTime after = time(cluster, allReduce, gigabyte, 64);
  EXPECT_EQ(after.algorithm, Algorithm::InNetwork);
  EXPECT_LT(after.seconds, before);
}

/// More bytes and more ranks never take less, over all kinds and machines.
TEST(CollectiveTimeTest, Monotonous) {
  for (const char *name : {"dgx-a100", "dgx-h100", "dgx-b200", "hgx-h200"})
    for (CollectiveKind kind :
         {allReduce, allGather, reduceScatter, allToAll, permute, exchange}) {
      const Cluster cluster = load(name);
      for (int64_t ranks : {2, 4, 8, 16, 64, 1024, 16384}) {
        double before = 0;
        for (double bytes = 1; bytes <= 64 * gigabyte; bytes *= 2) {
          const CollectiveTime now = time(cluster, kind, bytes, ranks);
          EXPECT_TRUE(std::isfinite(now.seconds));
          EXPECT_GE(now.seconds, before) << name << " " << bytes;
          before = now.seconds;
        }
      }
    }
}

/// No bus bandwidth above what the links carry; in-switch reduction counts
/// double.
TEST(CollectiveTimeTest, WithinTheLinks) {
  const Cluster cluster = load("dgx-h100");
  for (CollectiveKind kind : {allReduce, allGather, reduceScatter, allToAll})
    for (int64_t ranks : {2, 8, 16, 64, 1024})
      for (double bytes = kilobyte; bytes <= 16 * gigabyte; bytes *= 4) {
        const double seconds = time(cluster, kind, bytes, ranks).seconds;
        const double bus = bytes * busFactor(kind, ranks) / seconds;
        EXPECT_LT(bus, 2 * cluster.node.link.bytesPerSecond);
        if (ranks > 8)
          EXPECT_LT(bus, 8 * cluster.network->nicBytesPerSecond);
      }
}

TEST(CollectiveTimeTest, OneNicEachWithoutNeighbours) {
  const Cluster cluster = load("dgx-h100");
  const double together = time(cluster, allReduce, gigabyte, 64).seconds;
  const double apart = time(cluster, allReduce, gigabyte, 8, 8).seconds;
  EXPECT_GT(apart, 5 * together);
}

TEST(CollectiveTimeTest, SharedLinksAreSlower) {
  const Cluster cluster = load("dgx-h100");
  for (CollectiveKind kind :
       {allReduce, allGather, allToAll, permute, exchange}) {
    CollectiveCall call{kind, gigabyte, placeNeighbours(cluster, 16)};
    const double alone = collectiveTime(cluster, call, {}).seconds;
    call.share = {0.5, 0.5};
    const double shared = collectiveTime(cluster, call, {}).seconds;
    EXPECT_NEAR(shared / alone, 2, 0.1);
  }
}

TEST(CollectiveTimeTest, TheNetworkHoldsUpWhatHasHalfOfANode) {
  const Cluster cluster = load("dgx-h100");
  CollectiveCall call{allGather, gigabyte, placeGroup(cluster, {{4, 4}})};
  const double alone = collectiveTime(cluster, call, {}).seconds;
  call.share.node = 0.5;
  EXPECT_EQ(collectiveTime(cluster, call, {}).seconds, alone);
}

TEST(CollectiveTimeTest, ThreadsOfOneProcess) {
  Cluster cluster = load("cpu-2core");
  cluster.node.link = {LinkKind::SharedMemory, 3.17e9, 3.3e-6, 4 << 20, 10.1e9};
  // 2 hops of 3.3 us, and 64 MiB at 3.17 GB/s, 1 MiB in the cache at 10.1.
  EXPECT_NEAR(time(cluster, allReduce, 1024, 2).seconds, 6.7e-6, 1e-7);
  EXPECT_NEAR(time(cluster, allReduce, 1 << 20, 2).seconds, 110e-6, 1e-6);
  EXPECT_NEAR(time(cluster, allReduce, 64 << 20, 2).seconds, 21.2e-3, 1e-4);
  // Each rank copies its own shard as well.
  EXPECT_DOUBLE_EQ(time(cluster, allGather, 64 << 20, 2).seconds,
                   time(cluster, allReduce, 64 << 20, 2).seconds);
}

TEST(CollectiveTimeTest, PointToPoint) {
  const Cluster cluster = load("dgx-h100");
  const Calibration calibration;
  const double inside = sendSeconds(cluster, gigabyte, 0, calibration);
  const double outside = sendSeconds(cluster, gigabyte, 1, calibration);
  EXPECT_NEAR(gigabyte / inside, 386e9, 5e9);
  EXPECT_NEAR(gigabyte / outside, 49e9, 1e9);
}

TEST(CollectiveTimeTest, ContentionSlowsBoth) {
  const Cluster cluster = load("dgx-h100");
  const CollectiveCall call{allReduce, gigabyte, placeNeighbours(cluster, 8)};
  const Calibration calibration;
  const CollectiveTime alone = collectiveTime(cluster, call, calibration);
  const Contention gemm = contention(cluster, call, alone, 0, calibration);
  EXPECT_NEAR(gemm.computeFactor, 132.0 / 116, 1e-9);
  EXPECT_EQ(gemm.communicationFactor, 1);
  const Contention copy = contention(cluster, call, alone, 3e12, calibration);
  EXPECT_GT(copy.computeFactor, 1.3);
  EXPECT_GT(copy.communicationFactor, 1.3);
  EXPECT_EQ(contention(cluster, call, {}, 3e12, calibration).computeFactor, 1);
  const Cluster cpu = load("cpu-2core");
  EXPECT_EQ(contention(cpu, call, alone, 0, calibration).computeFactor, 2);
}
