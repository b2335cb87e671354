//===- CpuCostTest.cpp - Kernels on the cores of a CPU --------------------===//
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

namespace {

/// Numbers that are easy to calculate with; no launches.
class CpuCostTest : public testing::Test {
protected:
  CpuCostTest() {
    Device &device = cluster.device;
    device.flopsPerSecond[static_cast<size_t>(Precision::F32)] = 100e9;
    device.memoryBytes = 8e9;
    device.memoryBytesPerSecond = 10e9;
    device.hostBytesPerSecond = 5e9;
    CoreRates &core = device.core;
    core.cacheBytes = 16 << 20;
    core.cachedBytesPerSecond = 40e9;
    core.gemmBytesPerSecond = 2e9;
    core.gemmCachedBytesPerSecond = 4e9;
    core.gemmCacheBytes = 32 << 20;
    core.attentionFlopsPerSecond = 50e9;
    core.attentionGradFlopsPerSecond = 60e9;
    core.elementFlopsPerSecond = 20e9;
    core.functionSeconds[static_cast<size_t>(Function::Exp)] = 1e-9;
    core.functionSeconds[static_cast<size_t>(Function::Erf)] = 3e-9;
    cluster.node.devices = 2;
    cluster.node.memoryBytesPerSecond = 15e9;
    cluster.node.link = {LinkKind::SharedMemory, 4e9, 1e-6, 1 << 20, 8e9};
  }
  CostModel model() const { return CostModel(cluster); }

  static Gemm f32(int64_t m, int64_t n, int64_t k, int64_t batch = 1) {
    return {m, n, k, batch, Precision::F32};
  }

  Cluster cluster;
};

} // namespace

TEST_F(CpuCostTest, BytesBeyondTheCacheAreSlower) {
  const double cache = 16 << 20;
  EXPECT_DOUBLE_EQ(model().memoryKernel({1e6, 0}), 1e6 / 40e9);
  EXPECT_DOUBLE_EQ(model().memoryKernel({cache, 0}), cache / 40e9);
  EXPECT_DOUBLE_EQ(model().memoryKernel({cache, 1e9}),
                   cache / 40e9 + 1e9 / 10e9);
}

TEST_F(CpuCostTest, ProductsCopyOperands) {
  const double elements = 256 * 256;
  // From beyond the cache, at 10 GB/s, and in it.
  EXPECT_DOUBLE_EQ(model().gemm(f32(256, 256, 256)),
                   2 * 256 * elements / 100e9 + 2 * 4 * elements / 4e9 +
                       2 * 4 * elements / 10e9);
  Gemm warm = f32(256, 256, 256);
  warm.isWarm = true;
  EXPECT_DOUBLE_EQ(model().gemm(warm),
                   2 * 256 * elements / 100e9 + 2 * 4 * elements / 4e9);
  // The left operand is copied for each 1024 columns.
  warm.n = 2048;
  EXPECT_DOUBLE_EQ(model().gemm(warm),
                   2 * 2048 * elements / 100e9 + (2 + 8) * 4 * elements / 4e9);
  EXPECT_DOUBLE_EQ(model().gemm(f32(256, 256, 256, 50)),
                   50 * model().gemm(f32(256, 256, 256)));
}

TEST_F(CpuCostTest, ResultsComeFromBeyondTheCache) {
  const double elements = 4096 * 2048;
  Gemm warm = f32(4096, 2048, 1);
  warm.isWarm = true;
  Gemm cold = warm;
  cold.isWarm = false;
  // All of 32 MiB stays there while it is repeated.
  EXPECT_NEAR(model().gemm(cold) - model().gemm(warm),
              4 * elements / 2e9 + 4 * (2 * 4096 + 2048) / 10e9, 1e-9);
  // Larger ones do not, and come for each 256 of the sum.
  cluster.device.core.gemmCacheBytes = 16 << 20;
  Gemm deep = warm;
  const double one = model().gemm(warm);
  deep.k = 257;
  Gemm small = deep;
  small.m = 1024;
  EXPECT_NEAR(one, 2 * elements / 100e9 + 4 * elements / 2e9, 2e-5);
  const auto results = [&](const Gemm &gemm) {
    Cluster other = cluster;
    other.device.core.gemmBytesPerSecond = 1e18;
    return model().gemm(gemm) - CostModel(other).gemm(gemm);
  };
  EXPECT_NEAR(results(deep), 2 * 4 * elements / 2e9, 1e-9);
  EXPECT_NEAR(results(small), 0, 1e-9);
}

TEST_F(CpuCostTest, AttentionMovesWhatIsNotInTheCache) {
  Attention attention{2, 8, 4, 256, 512, 64};
  attention.precision = Precision::F32;
  Attention warm = attention;
  warm.isWarm = true;
  const double queries = 4.0 * 2 * 8 * 256 * 64, keys = 4.0 * 2 * 4 * 512 * 64;
  EXPECT_NEAR(model().attention(attention) - model().attention(warm),
              (queries + 2 * keys) / 10e9 + queries / 2e9, 1e-9);
  attention.isBackward = warm.isBackward = true;
  EXPECT_NEAR(model().attention(attention) - model().attention(warm),
              (3 * queries + 2 * keys) / 10e9 + (queries + 2 * keys) / 2e9,
              1e-9);
}

TEST_F(CpuCostTest, TilesOfRegistersAreComputedWhole) {
  cluster.device.core.gemmBytesPerSecond = 1e18;
  cluster.device.core.gemmCachedBytesPerSecond = 1e18;
  cluster.device.memoryBytesPerSecond = 1e18;
  EXPECT_NEAR(model().gemm(f32(1, 1, 1000)) / model().gemm(f32(8, 16, 1000)), 1,
              1e-6);
}

TEST_F(CpuCostTest, ProductsWithoutRatesAreBoundByMemory) {
  cluster.device.core = {};
  EXPECT_DOUBLE_EQ(model().gemm(f32(8, 1024, 1024)),
                   f32(8, 1024, 1024).bytes() / 10e9);
}

TEST_F(CpuCostTest, BlocksOnTheDiagonalAreComputedWhole) {
  Attention attention{1, 4, 4, 256, 256, 64};
  attention.precision = Precision::F32;
  attention.isWarm = true;
  const double all = 4.0 * 4 * 256 * 256 * 64;
  EXPECT_DOUBLE_EQ(model().attention(attention), all / 50e9);
  attention.isCausal = true;
  EXPECT_DOUBLE_EQ(model().attention(attention),
                   all * 0.5 * (1 + 64.0 / 256) / 50e9);
  attention.isBackward = true;
  EXPECT_DOUBLE_EQ(model().attention(attention),
                   2.5 * all * 0.5 * (1 + 64.0 / 256) / 60e9);
}

TEST_F(CpuCostTest, KernelsHideTheirArithmeticInPart) {
  ElementWork work;
  work.flops = 3e6;
  work.addCalls("exp", 1e6);
  work.addCalls("addf", 1e6); // as any operation
  const double arithmetic = 1e6 * 1e-9 + 2e6 / 20e9;
  EXPECT_DOUBLE_EQ(model().kernel({0, 0}, work), arithmetic);
  EXPECT_DOUBLE_EQ(model().kernel({4e6, 4e6}, work),
                   std::hypot(arithmetic, model().memoryKernel({4e6, 4e6})));
  EXPECT_NEAR(model().kernel({1e9, 0}, work), model().memoryKernel({1e9, 0}),
              1e-5);
}

TEST_F(CpuCostTest, SumsInF64TakeTimeOfTheirOwn) {
  ElementWork work;
  work.flops = 1e6;
  work.addCalls("extf", 1e6);
  // Where it was not measured, the additions alone.
  EXPECT_DOUBLE_EQ(model().kernel({0, 0}, work), 1e6 / 20e9);
  cluster.device.core.functionSeconds[static_cast<size_t>(Function::Extf)] =
      2e-10;
  EXPECT_DOUBLE_EQ(model().kernel({0, 0}, work), 1e6 / 20e9 + 2e-4);
}

TEST_F(CpuCostTest, UnmeasuredFunctionsAreAsSlowAsTheSlowest) {
  ElementWork work;
  work.flops = 1e6;
  work.addCalls("powf", 1e6);
  EXPECT_NEAR(model().kernel({4, 4}, work), 3e-3, 1e-9);
}

TEST_F(CpuCostTest, GpusTakeTheirPeak) {
  const CostModel h100(*loadCluster("h100-sxm").cluster);
  ElementWork work;
  work.flops = 1e12;
  work.addCalls("exp", 1e12);
  EXPECT_NEAR(h100.kernel({4, 4}, work),
              h100.launch() + 1e12 * h100.secondsPerFlop(Precision::F32), 1e-9);
}

TEST_F(CpuCostTest, RanksShareTheMemoryOfTheNode) {
  const Cluster two = shareNode(cluster, 2);
  EXPECT_DOUBLE_EQ(two.device.memoryBytesPerSecond, 7.5e9);
  EXPECT_DOUBLE_EQ(two.device.core.cachedBytesPerSecond, 40e9);
  EXPECT_DOUBLE_EQ(two.device.peak(Precision::F32), 100e9);
  EXPECT_DOUBLE_EQ(shareNode(cluster, 1).device.memoryBytesPerSecond, 10e9);
}

TEST_F(CpuCostTest, MoreRanksThanCoresTakeTurns) {
  const CostModel four = model().ofRanks(4);
  EXPECT_EQ(four.cluster().node.devices, 4);
  EXPECT_DOUBLE_EQ(four.cluster().device.memoryBytesPerSecond, 7.5e9 / 2);
  EXPECT_DOUBLE_EQ(four.cluster().device.memoryBytes, 4e9);
  Gemm gemm = f32(512, 512, 512);
  gemm.isWarm = true;
  EXPECT_DOUBLE_EQ(four.gemm(gemm), 2 * model().gemm(gemm));
  ElementWork work;
  work.flops = 2e6;
  work.addCalls("erf", 1e6);
  EXPECT_NEAR(four.kernel({4, 4}, work) / model().kernel({4, 4}, work), 2,
              1e-6);
  EXPECT_EQ(four.behindOthers(1e-3), 1e-3);
  const CollectiveCall call{CollectiveKind::AllReduce, 1e9,
                            model().place({{2, 1}})};
  EXPECT_DOUBLE_EQ(four.collective(call).seconds,
                   2 * model().collective(call).seconds);
}

TEST_F(CpuCostTest, CollectivesTakeCoresThatCompute) {
  const CollectiveCall call{CollectiveKind::AllReduce, 1e9,
                            model().place({{2, 1}})};
  const auto factor = [&](const CostModel &of) {
    const Contention both = of.contention(call, of.collective(call), 0);
    EXPECT_DOUBLE_EQ(both.computeFactor, both.communicationFactor);
    return both.computeFactor;
  };
  // Two threads of a rank have one core, or two.
  EXPECT_DOUBLE_EQ(factor(model().ofRanks(2)), 2);
  EXPECT_FALSE(model().ofRanks(2).hides(call));
  EXPECT_FALSE(model().ofRanks(8).hides(call));
  cluster.node.devices = 4;
  EXPECT_DOUBLE_EQ(factor(model().ofRanks(2)), 1);
  EXPECT_TRUE(model().ofRanks(2).hides(call));
  // One core is left for two ranks.
  EXPECT_DOUBLE_EQ(factor(model().ofRanks(3)), 1.5);
  EXPECT_TRUE(model().ofRanks(3).hides(call));
  // Where ranks compute on two cores each, a third thread is half as much.
  cluster.device.units = 2;
  EXPECT_DOUBLE_EQ(factor(model().ofRanks(4)), 1.5);
  // Other hardware moves the data.
  cluster.device.collectiveCores = 0;
  EXPECT_DOUBLE_EQ(factor(model().ofRanks(4)), 1);
}

TEST_F(CpuCostTest, SavedIsWhatBothDoTogether) {
  EXPECT_DOUBLE_EQ(hiddenShare({1, 1}), 1);
  EXPECT_DOUBLE_EQ(hiddenShare({2, 2}), 0);
  EXPECT_DOUBLE_EQ(hiddenShare({1.25, 1}), 0.8);
  EXPECT_DOUBLE_EQ(hiddenShare({3, 2}), 0);
  const CostModel h100(*loadCluster("dgx-h100").cluster);
  EXPECT_TRUE(
      h100.hides({CollectiveKind::AllReduce, 1e9, h100.place({{8, 1}})}));
}

TEST_F(CpuCostTest, AnyNumberOfRanksFits) {
  EXPECT_GT(mostRanks(cluster), 1'000'000);
  EXPECT_EQ(mostRanks(*loadCluster("dgx-h100").cluster),
            loadCluster("dgx-h100").cluster->devices());
  const Cluster h100 = *loadCluster("h100-sxm").cluster;
  EXPECT_EQ(mostRanks(h100), 1);
  EXPECT_EQ(shareNode(h100, 4).device.memoryBytesPerSecond,
            h100.device.memoryBytesPerSecond);
}

TEST_F(CpuCostTest, FunctionsHaveNames) {
  for (size_t i = 0; i < functionCount; ++i)
    EXPECT_EQ(findFunction(nameOf(static_cast<Function>(i))),
              static_cast<Function>(i));
  EXPECT_EQ(findFunction("mulf"), std::nullopt);
}

static constexpr const char *file = R"(name = "cpu"
[device]
kind = "core"
generation = "cpu"
units = 1
memory_bytes = 8e9
memory_bytes_per_second = 10e9
launch_seconds = 1e-7
host_bytes_per_second = 5e9
collective_cores = 0.5
[device.flops_per_second]
f32 = 100e9
[device.cache]
bytes = 8388608
bytes_per_second = 40e9
[device.gemm]
bytes_per_second = 2e9
cached_bytes_per_second = 4e9
cache_bytes = 4194304
[device.attention]
flops_per_second = 50e9
grad_flops_per_second = 60e9
[device.elementwise]
flops_per_second = 20e9
[device.function_seconds]
exp = 1e-9
powf = 2e-9
[node]
devices = 2
memory_bytes_per_second = 15e9
[node.link]
kind = "shared_memory"
bytes_per_second = 4e9
latency_seconds = 1e-6
)";

TEST_F(CpuCostTest, FileSaysWhatACoreDoes) {
  const ParsedCluster parsed = parseCluster(file, "c.toml");
  ASSERT_THAT(parsed.problems, testing::IsEmpty());
  const CoreRates &core = parsed.cluster->device.core;
  EXPECT_EQ(core.cacheBytes, 8388608);
  EXPECT_EQ(core.cachedBytesPerSecond, 40e9);
  EXPECT_EQ(core.gemmBytesPerSecond, 2e9);
  EXPECT_EQ(core.gemmCachedBytesPerSecond, 4e9);
  EXPECT_EQ(core.gemmCacheBytes, 4194304);
  EXPECT_EQ(core.attentionFlopsPerSecond, 50e9);
  EXPECT_EQ(core.attentionGradFlopsPerSecond, 60e9);
  EXPECT_EQ(core.elementFlopsPerSecond, 20e9);
  EXPECT_EQ(core.functionSeconds[static_cast<size_t>(Function::Pow)], 2e-9);
  EXPECT_EQ(core.functionSeconds[static_cast<size_t>(Function::Sin)], 0);
  EXPECT_EQ(parsed.cluster->node.memoryBytesPerSecond, 15e9);
  EXPECT_EQ(parsed.cluster->device.collectiveCores, 0.5);
}

TEST_F(CpuCostTest, CoresAreOfCpus) {
  std::string text = file;
  text.replace(text.find("\"cpu\"\nunits"), 5, "\"hopper\"");
  EXPECT_THAT(
      parseCluster(text, "c.toml").problems,
      testing::ElementsAre(
          "c.toml:10:1: \"collective_cores\" in [device] is for devices of "
          "the generation cpu",
          "c.toml:13:9: [device.cache] is for devices of the generation cpu",
          "c.toml:16:9: [device.gemm] is for devices of the generation cpu",
          "c.toml:20:9: [device.attention] is for devices of the generation "
          "cpu",
          "c.toml:23:9: [device.elementwise] is for devices of the generation "
          "cpu",
          "c.toml:25:9: [device.function_seconds] is for devices of the "
          "generation cpu"));
}
