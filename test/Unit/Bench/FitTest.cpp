//===- FitTest.cpp - Rates from times -------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times that the cost model makes of a made-up machine: the fit must find the
// machine again.
//
//===----------------------------------------------------------------------===//

#include "Fit.h"

#include "weft/Cost/ClusterFile.h"
#include "weft/Cost/CostModel.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace weft::cost;
using namespace weft::tools;
using weft::runtime::DType;

namespace {

Timing exactly(double seconds) {
  Timing timing;
  timing.best = timing.median = timing.wall = seconds;
  timing.calls = 1;
  return timing;
}

CollectiveTiming exactlyOf(const CollectiveTime &time) {
  return {time.seconds, time.seconds, time.seconds, 0};
}

class FitTest : public testing::Test {
protected:
  FitTest() {
    machine = {"Test CPU", 2, 16e9, 0.5};
    Device &device = truth.device;
    device.flopsPerSecond[static_cast<size_t>(Precision::F32)] = 200e9;
    device.memoryBytesPerSecond = 12e9;
    device.core = {8 << 20, 60e9, 30e9, 15e9, 4 << 20, 150e9, 160e9, 50e9, {}};
    truth.node.devices = 2;
    truth.node.link = {LinkKind::SharedMemory, 3e9, 2e-6, 4 << 20, 12e9};
    addProducts();
    addKernels();
    addCollectives();
  }

  void addProducts() {
    const CostModel model(truth);
    for (const auto &[m, n, k] : {std::array<int64_t, 3>{64, 64, 64},
                                  {512, 512, 512},
                                  {1024, 1024, 512},
                                  {2048, 2048, 2048},
                                  {1024, 8192, 256}})
      results.gemms.push_back(
          {{m, n, k, DType::F32, "nn"},
           exactly(model.gemm(
               {m, n, k, 1, Precision::F32, false, false, /*isWarm=*/true}))});
    results.gemms.push_back({{256, 256, 256, DType::F64, "nn"},
                             exactly(2 * 256.0 * 256 * 256 / 20e9)});
    for (bool isBackward : {false, true})
      for (int64_t positions : {256, 1024}) {
        Attention attention{1,
                            4,
                            4,
                            positions,
                            positions,
                            64,
                            true,
                            isBackward,
                            Precision::F32,
                            /*isWarm=*/true};
        results.attention.push_back({{1, positions, 4, 4, 64, isBackward},
                                     exactly(model.attention(attention))});
      }
  }

  void addKernels() {
    for (double bytes = 1 << 20; bytes <= 1 << 28; bytes *= 2)
      results.memory.push_back(
          {1, bytes,
           bytes / (bytes <= truth.device.core.cacheBytes ? 60e9 : 12e9)});
    results.memory.push_back({2, 1 << 28, (1 << 28) / 9e9});
    results.functions["exp"] = {1, 2e-10};
    results.functions["powf"] = {1, 2e-9};
    results.arithmetic = {64, 64 / 50e9};
    results.launchSeconds = 50e-9;
  }

  void addCollectives() {
    const CostModel model(truth);
    for (CollectiveKind kind :
         {CollectiveKind::AllReduce, CollectiveKind::AllGather,
          CollectiveKind::Permute})
      for (int ranks : {2, 4})
        for (int64_t bytes = 256; bytes <= 64 << 20; bytes *= 8)
          results.collectives.push_back(
              {{kind, ranks, DType::F32, bytes},
               exactlyOf(model.collective({kind, static_cast<double>(bytes),
                                           model.place({{ranks, 1}})}))});
  }

  Machine machine;
  Cluster truth;
  Results results;
};

} // namespace

TEST_F(FitTest, FindsTheRatesOfTheModel) {
  const FittedCluster fitted = fitCluster(results, machine);
  const Device &device = fitted.cluster.device;
  EXPECT_NEAR(device.core.cacheBytes, 8 << 20, 1);
  EXPECT_NEAR(device.core.cachedBytesPerSecond / 60e9, 1, 1e-6);
  EXPECT_NEAR(device.memoryBytesPerSecond / 12e9, 1, 1e-6);
  EXPECT_NEAR(fitted.cluster.node.memoryBytesPerSecond / 18e9, 1, 1e-6);
  EXPECT_NEAR(device.peak(Precision::F32) / 200e9, 1, 1e-6);
  EXPECT_NEAR(device.peak(Precision::F64) / 20e9, 1, 1e-6);
  EXPECT_NEAR(device.core.gemmBytesPerSecond / 15e9, 1, 1e-6);
  EXPECT_NEAR(device.core.gemmCachedBytesPerSecond / 30e9, 1, 1e-6);
  EXPECT_NEAR(device.core.gemmCacheBytes, 4 << 20, 1);
  EXPECT_LT(fitted.worstGemmError, 1e-6);
  EXPECT_NEAR(device.core.attentionFlopsPerSecond / 150e9, 1, 1e-6);
  EXPECT_NEAR(device.core.attentionGradFlopsPerSecond / 160e9, 1, 1e-6);
  EXPECT_NEAR(device.core.elementFlopsPerSecond / 50e9, 1, 1e-6);
  EXPECT_EQ(device.core.functionSeconds[static_cast<size_t>(Function::Pow)],
            2e-9);
  const NodeLink &link = fitted.cluster.node.link;
  EXPECT_NEAR(link.latencySeconds / 2e-6, 1, 0.05);
  EXPECT_NEAR(link.cachedBytesPerSecond / 12e9, 1, 0.05);
  EXPECT_NEAR(link.bytesPerSecond / 3e9, 1, 0.05);
}

TEST_F(FitTest, FileSaysTheSame) {
  const FittedCluster fitted = fitCluster(results, machine);
  const std::string text = printCluster(fitted, results, machine, "mine");
  const ParsedCluster parsed = parseCluster(text, "mine.toml");
  ASSERT_THAT(parsed.problems, testing::IsEmpty()) << text;
  EXPECT_EQ(parsed.cluster->name, "mine");
  EXPECT_EQ(parsed.cluster->device.kind, "core of Test CPU");
  EXPECT_EQ(parsed.cluster->device.memoryBytes, 8e9);
  EXPECT_EQ(parsed.cluster->node.devices, 2);
  const CostModel expected(fitted.cluster), found(*parsed.cluster);
  const Gemm gemm{2048, 2048, 2048, 1, Precision::F32};
  EXPECT_NEAR(found.gemm(gemm) / expected.gemm(gemm), 1, 1e-3);
  EXPECT_NEAR(found.launch(), expected.launch(), 1e-12);
}

TEST_F(FitTest, FileSaysWhenOthersHadTheCores) {
  const FittedCluster fitted = fitCluster(results, machine);
  EXPECT_THAT(printCluster(fitted, results, machine, "mine"),
              testing::Not(testing::HasSubstr("lower bounds")));
  results.measured = 10;
  results.busy = 5;
  EXPECT_THAT(
      printCluster(fitted, results, machine, "mine"),
      testing::HasSubstr("others had the cores in 5 of 10 measurements:"
                         " rates of memory and links are lower bounds"));
}

TEST_F(FitTest, ProductsOfOneKindOnly) {
  // Nothing says how fast the others are: they have no limit.
  std::erase_if(results.gemms, [](const GemmRow &row) {
    return row.shape.m * row.shape.n * row.shape.k > 512 * 512 * 512;
  });
  const FittedCluster fitted = fitCluster(results, machine);
  EXPECT_NEAR(fitted.cluster.device.peak(Precision::F32) / 200e9, 1, 0.05);
  EXPECT_GT(fitted.cluster.device.core.gemmBytesPerSecond, 1e12);
  EXPECT_THAT(parseCluster(printCluster(fitted, results, machine, "mine"), "m")
                  .problems,
              testing::IsEmpty());
}

TEST_F(FitTest, MemoryHasTheMedianOfSizesBeyondTheCache) {
  // The largest array meets something else: it is one of many.
  for (MemoryRow &row : results.memory)
    if (row.ranks == 1 && row.bytes == 1 << 28)
      row.seconds *= 2;
  EXPECT_NEAR(fitCluster(results, machine).cluster.device.memoryBytesPerSecond /
                  12e9,
              1, 1e-6);
}

TEST_F(FitTest, MiddleBatchesDecide) {
  const auto print = [&] {
    return printCluster(fitCluster(results, machine), results, machine, "mine");
  };
  const std::string text = print();
  for (GemmRow &row : results.gemms)
    row.timing.best /= 2;
  for (AttentionRow &row : results.attention)
    row.timing.best /= 2;
  for (CollectiveRow &row : results.collectives)
    row.timing.best *= 0.9;
  EXPECT_EQ(print(), text);
}

TEST_F(FitTest, NoRateIsNegative) {
  // As if results were there before they are needed.
  for (GemmRow &row : results.gemms)
    if (row.shape.m * row.shape.n > 1024 * 1024)
      row.timing = exactly(0.8 * row.timing.median);
  const Device device = fitCluster(results, machine).cluster.device;
  EXPECT_GT(device.peak(Precision::F32), 0);
  EXPECT_GT(device.core.gemmCachedBytesPerSecond, 0);
  EXPECT_GT(device.core.gemmBytesPerSecond, 0);
}
