//===- BucketsTest.cpp ----------------------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/Buckets.h"
#include "weft/Cost/ClusterFile.h"
#include "weft/Cost/CostModel.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <limits>
#include <numeric>
#include <random>

using namespace weft;
using namespace weft::cost;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

/// A latency, and a second a byte.
CallSeconds line(std::vector<double> bytes, double latency) {
  return [bytes, latency](size_t begin, size_t end) {
    return std::accumulate(bytes.begin() + begin, bytes.begin() + end, latency);
  };
}

TEST(BucketsTest, NothingToSend) {
  EXPECT_THAT(chooseBuckets({}, line({}, 1)), IsEmpty());
}

TEST(BucketsTest, WhatIsReadyAtOnceIsOneCall) {
  const double ready[] = {5, 5, 5};
  EXPECT_THAT(chooseBuckets(ready, line({1, 1, 1}, 1)), ElementsAre(3));
}

/// What others hide is as long as it can be; the last one waits for nothing.
TEST(BucketsTest, TheLastIsAlone) {
  const double ready[] = {10, 20, 30, 40};
  const CallSeconds seconds = line({2, 2, 2, 2}, 1);
  const auto ends = chooseBuckets(ready, seconds);
  EXPECT_THAT(ends, ElementsAre(3, 4));
  EXPECT_DOUBLE_EQ(endOfBuckets(ready, seconds, ends), 43);
}

/// Where links are slow, the first call is short so that it begins early.
TEST(BucketsTest, TheFirstIsSmallWhereNothingHidesIt) {
  const double ready[] = {1, 2, 3, 4};
  const CallSeconds seconds = line({10, 10, 10, 10}, 0.5);
  EXPECT_EQ(chooseBuckets(ready, seconds).front(), 1u);
}

TEST(BucketsTest, ACallMoreIsWorthWhatItSaves) {
  const double ready[] = {10, 20};
  const CallSeconds seconds = line({2, 2}, 1);
  EXPECT_THAT(chooseBuckets(ready, seconds, 1.5), ElementsAre(1, 2));
  EXPECT_THAT(chooseBuckets(ready, seconds, 2.5), ElementsAre(2));
}

TEST(BucketsTest, WhatCannotBeOneIsNot) {
  const double ready[] = {1, 1, 1, 1};
  const CallSeconds seconds = [](size_t begin, size_t end) {
    return end - begin > 2 ? std::numeric_limits<double>::infinity() : 1.0;
  };
  EXPECT_EQ(chooseBuckets(ready, seconds).size(), 2u);
}

/// All ways to cut a few items, one bit for each border.
TEST(BucketsTest, NoOtherCutEndsSooner) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const size_t items = 1 + random() % 9;
    std::vector<double> ready, bytes;
    for (size_t i = 0; i < items; ++i) {
      ready.push_back((i ? ready.back() : 0) + random() % 10);
      bytes.push_back(1 + random() % 8);
    }
    const CallSeconds seconds = line(bytes, random() % 6);
    double best = std::numeric_limits<double>::infinity();
    for (uint32_t cut = 0; cut < 1u << (items - 1); ++cut) {
      std::vector<size_t> ends;
      for (size_t i = 1; i < items; ++i)
        if (cut >> (i - 1) & 1)
          ends.push_back(i);
      ends.push_back(items);
      best = std::min(best, endOfBuckets(ready, seconds, ends));
    }
    const double found =
        endOfBuckets(ready, seconds, chooseBuckets(ready, seconds));
    EXPECT_NEAR(found, best, 1e-6) << round;
  }
}

//===----------------------------------------------------------------------===//
// Beside rules of a fixed size
//===----------------------------------------------------------------------===//

/// Gradients of a transformer in the order of the backward pass.
struct Backward {
  std::vector<double> ready, bytes;

  Backward(const CostModel &model, int64_t layers, int64_t hidden,
           int64_t tokens) {
    const double vocabulary = 50304;
    const double h = static_cast<double>(hidden);
    double now = 0;
    auto compute = [&](int64_t outputs) {
      now += 2 * model.gemm({tokens, outputs, hidden});
    };
    auto add = [&](double numbers) {
      ready.push_back(now);
      bytes.push_back(4 * numbers);
    };
    compute(static_cast<int64_t>(vocabulary));
    for (int64_t layer = 0; layer < layers; ++layer) {
      for (int64_t outputs : {4, 4, 1, 3}) {
        compute(outputs * hidden);
        add(static_cast<double>(outputs) * h * h);
        add(static_cast<double>(outputs) * h);
      }
      add(4 * h);
    }
    add(vocabulary * h);
  }
};

/// A bucket is full once it has so many bytes.
std::vector<size_t> fixedBuckets(const Backward &pass, double most) {
  std::vector<size_t> ends;
  double bytes = 0;
  for (size_t i = 0; i < pass.bytes.size(); ++i)
    if ((bytes += pass.bytes[i]) >= most || i + 1 == pass.bytes.size()) {
      ends.push_back(i + 1);
      bytes = 0;
    }
  return ends;
}

/// 4 models, 3 sizes of batch, 7 bandwidths of the network, 2 numbers of nodes.
TEST(BucketsTest, AsGoodAsFixedRules) {
  const Cluster h100 = *loadCluster("dgx-h100").cluster;
  int points = 0, asGood = 0;
  double worst = 0, best = 1;
  for (auto [layers, hidden] : {std::pair<int64_t, int64_t>(12, 768),
                                {24, 1024},
                                {36, 1280},
                                {32, 4096}})
    for (int64_t tokens : {4096, 16384, 65536})
      for (double bandwidth : {1e9, 3e9, 6e9, 12.5e9, 25e9, 50e9, 100e9})
        for (int64_t nodes : {2, 16}) {
          Cluster cluster = h100;
          cluster.network->nicBytesPerSecond = bandwidth;
          const CostModel model(cluster);
          const Backward pass(model, layers, hidden, tokens);
          const Placement group = model.place({{8 * nodes, 1}});
          std::vector<double> sums(1);
          for (double bytes : pass.bytes)
            sums.push_back(sums.back() + bytes);
          const CallSeconds seconds = [&](size_t begin, size_t end) {
            return model
                .collective(
                    {CollectiveKind::AllReduce, sums[end] - sums[begin], group})
                .seconds;
          };
          auto timeOf = [&](const std::vector<size_t> &ends) {
            return endOfBuckets(pass.ready, seconds, ends) +
                   static_cast<double>(ends.size()) * model.launch();
          };
          const double ours =
              timeOf(chooseBuckets(pass.ready, seconds, model.launch()));
          double fixed = std::numeric_limits<double>::infinity();
          for (double most : {25e6, 30.0 * (1 << 20)})
            fixed = std::min(fixed, timeOf(fixedBuckets(pass, most)));
          ++points;
          asGood += ours <= fixed;
          worst = std::max(worst, ours / fixed);
          best = std::min(best, ours / fixed);
        }
  std::printf(
      "%d of %d points at least as good as the better fixed rule, worst "
      "%.4f, best %.3f of its time\n",
      asGood, points, worst, best);
  EXPECT_GE(asGood, 0.9 * points);
  EXPECT_LE(worst, 1.02);
}

} // namespace
