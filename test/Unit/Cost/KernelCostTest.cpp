//===- KernelCostTest.cpp - Matrix products, attention, memory ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/ClusterFile.h"
#include "weft/Cost/CostModel.h"

#include "gtest/gtest.h"

using namespace weft;
using namespace weft::cost;

static CostModel load(const char *name) {
  return CostModel(*loadCluster(name).cluster);
}

TEST(KernelCostTest, LastWaveIsShort) {
  const CostModel a100 = load("a100-sxm");
  // 9 x 12 tiles of 128 x 128 are one wave on 108 units; 10 x 12 are two, or
  // fewer of other tiles.
  const double one = a100.gemm({1152, 1536, 4096}),
               more = a100.gemm({1280, 1536, 4096});
  EXPECT_GT(more, 1.2 * one);
}

TEST(KernelCostTest, TilesReachBeyondTheMatrix) {
  const CostModel h100 = load("h100-sxm");
  // 11 x 12 tiles on 132 units, and a bit of a row more.
  const double whole = h100.gemm({1408, 1536, 8192});
  EXPECT_DOUBLE_EQ(h100.gemm({1400, 1536, 8192}), whole);
  EXPECT_GT(h100.gemm({1416, 1536, 8192}), 1.2 * whole);
}

TEST(KernelCostTest, DepthIsSplitWhereTilesAreFew) {
  const CostModel h100 = load("h100-sxm");
  // 16 tiles of 64 x 64 would leave 116 of 132 units idle.
  const Gemm deep{256, 256, 65536};
  EXPECT_LT(h100.gemm(deep), 65536 * 2.0 * 64 * 64 / (989.4e12 / 132));
}

TEST(KernelCostTest, NarrowProductsAreBoundByMemory) {
  const CostModel h100 = load("h100-sxm");
  const Gemm vector{8, 16384, 16384};
  EXPECT_GT(h100.gemm(vector), vector.bytes() / 3.35e12);
  EXPECT_LT(h100.gemm(vector), 1.3 * vector.bytes() / 3.35e12);
}

TEST(KernelCostTest, LayoutAndAlignment) {
  const CostModel h100 = load("h100-sxm");
  Gemm gemm{4096, 4096, 4096};
  const double plain = h100.gemm(gemm);
  gemm.transposeA = gemm.transposeB = true;
  EXPECT_DOUBLE_EQ(h100.gemm(gemm), plain);
  EXPECT_GT(h100.gemm({4096, 4096, 4097}), 1.8 * plain);
  // Rows of A are of k elements, or of m where it is transposed.
  Gemm tall{4097, 4096, 4096};
  EXPECT_LT(h100.gemm(tall), 1.5 * plain);
  tall.transposeA = true;
  EXPECT_GT(h100.gemm(tall), 1.8 * plain);
}

/// Of 14400 features over 8 ranks, and of 13824.
TEST(KernelCostTest, RowsOfWholeLinesAreFaster) {
  const CostModel a100 = load("a100-sxm");
  const Gemm split{2048, 5400, 14400}, whole{2048, 5184, 13824};
  const double rate = split.flops() / a100.gemm(split),
               best = whole.flops() / a100.gemm(whole);
  EXPECT_NEAR(rate / best, 0.7, 0.05);
}

TEST(KernelCostTest, PrecisionThatADeviceLacks) {
  const Device a100 = load("a100-sxm").cluster().device;
  EXPECT_EQ(peakFlopsPerSecond(a100, Precision::F8), 312e12);
  EXPECT_EQ(peakFlopsPerSecond(a100, Precision::I8), 624e12);
  const Device cpu = load("cpu-2core").cluster().device;
  EXPECT_EQ(peakFlopsPerSecond(cpu, Precision::TF32), cpu.peak(Precision::F32));
}

TEST(KernelCostTest, BatchesFillTheDevice) {
  const CostModel h100 = load("h100-sxm");
  Gemm gemm{128, 128, 1024};
  const double one = h100.gemm(gemm);
  gemm.batch = 32;
  EXPECT_LT(h100.gemm(gemm), 3 * one);
  gemm.batch = 13200;
  EXPECT_GT(h100.gemm(gemm), 20 * one);
}

TEST(KernelCostTest, CausalAttentionIsNearlyHalf) {
  const CostModel h100 = load("h100-sxm");
  Attention attention{1, 16, 16, 16384, 16384};
  const double whole = h100.attention(attention);
  attention.isCausal = true;
  EXPECT_NEAR(h100.attention(attention) / whole, 0.53, 0.02);
  EXPECT_DOUBLE_EQ(attention.flops(), 2.0 * 16 * 16384 * 16384 * 128);
  attention.isBackward = true;
  EXPECT_GT(h100.attention(attention), 1.25 * whole);
}

TEST(KernelCostTest, FewerKeyValueHeadsMoveLess) {
  const CostModel h100 = load("h100-sxm");
  Attention attention{32, 16, 16, 512, 512};
  const double all = h100.attention(attention);
  attention.keyValueHeads = 2;
  EXPECT_LT(h100.attention(attention), 0.95 * all);
}

TEST(KernelCostTest, SoftwareThatFusesLessMovesMore) {
  Cluster slow = *loadCluster("h100-sxm").cluster;
  slow.software.trafficFactor = 2.5;
  const CostModel usual = load("h100-sxm"), other(slow);
  const MemoryTraffic traffic{1e9, 1e9}, more{2.5e9, 2.5e9};
  EXPECT_DOUBLE_EQ(other.memoryKernel(traffic), usual.memoryKernel(more));
  EXPECT_DOUBLE_EQ(other.kernel(traffic, {}), usual.kernel(more, {}));
}

TEST(KernelCostTest, MemoryRates) {
  const CostModel h100 = load("h100-sxm");
  EXPECT_NEAR(h100.memoryKernel({4e9, 0}), 4e9 / 3216e9, 2e-5);
  EXPECT_NEAR(h100.memoryKernel({2e9, 2e9}), 4e9 / 2955e9, 2e-5);
  EXPECT_DOUBLE_EQ(h100.memoryKernel({0, 0}), h100.launch());
  EXPECT_EQ(h100.behindOthers(h100.memoryKernel({0, 0})), 0);
  // Small kernels reach less.
  EXPECT_GT(h100.memoryKernel({1e5, 1e5}) - h100.launch(), 1.5 * 2e5 / 3.35e12);
  EXPECT_NEAR(h100.hostCopy(4e9), 4e9 / 54.8e9, 1e-3);
}

TEST(KernelCostTest, SoftwareSlowsKernels) {
  Cluster cluster = *loadCluster("h100-sxm").cluster;
  const double plain = CostModel(cluster).gemm({4096, 4096, 4096});
  cluster.software.computeFactor = 1.5;
  EXPECT_DOUBLE_EQ(CostModel(cluster).gemm({4096, 4096, 4096}), 1.5 * plain);
}

TEST(KernelCostTest, ReservesAreNotForPlans) {
  const CostModel h100 = load("h100-sxm");
  EXPECT_DOUBLE_EQ(h100.usableBytes(),
                   85520809984.0 - 536870912 - 1073741824 - 33554432);
}
