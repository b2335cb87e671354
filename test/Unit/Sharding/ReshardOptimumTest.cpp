//===- ReshardOptimumTest.cpp ---------------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random pairs of shardings by whole axes, up to three: no plan sends more
// bytes than the best of all sequences of collectives where bytes decide, and
// none takes longer where latency does. Other pairs: --gtest_random_seed=7.
//
//===----------------------------------------------------------------------===//

#include "ReshardOptimum.h"
#include "Random.h"
#include "ReshardSimulator.h"

#include "gtest/gtest.h"

#include <cmath>
#include <iostream>

using namespace weft;
using namespace weft::sharding;
using weft::test::Random;

namespace {

/// How pairs are made and priced.
struct Setting {
  const char *name;
  int numPairs;
  std::vector<int64_t> axisSizes;
  /// Prime factors of a mesh, at most.
  int maxPrimes;
  std::vector<int64_t> dimensions;
  bool withTerms;
  std::vector<PriceLevel> levels;
};

const std::vector<PriceLevel> bytesOnly = {{1, 0, 1}};
/// In picoseconds, 5 us and 50 GB/s.
const std::vector<PriceLevel> usual = {{1, 5'000'000, 20}};
/// Ten times faster in hosts of 8 devices.
const std::vector<PriceLevel> hosts = {{8, 2'000'000, 2}, {64, 5'000'000, 20}};

const std::vector<int64_t> sizes = {2, 3, 4, 6, 8}, powers = {2, 4, 8, 16};
const std::vector<int64_t> large = {1152}, tight = {4, 6, 12, 24};
const std::vector<int64_t> mixed = {12, 24, 48, 576};

const Setting settings[] = {
    {"bytes", 500, sizes, 5, large, false, bytesOnly},
    {"bytes of partial sums", 300, sizes, 5, large, true, bytesOnly},
    {"bytes of small dimensions", 300, sizes, 5, tight, true, bytesOnly},
    {"bytes on larger meshes", 4, powers, 6, large, false, bytesOnly},
    {"time", 500, sizes, 5, mixed, false, usual},
    {"time of partial sums", 500, sizes, 5, mixed, true, usual},
    {"time in hosts", 500, sizes, 5, mixed, true, hosts},
};

struct Pair {
  Mesh mesh;
  std::vector<int64_t> shape;
  Sharding from, to;
};

int countPrimes(int64_t number) {
  int count = 0;
  for (int64_t prime = 2; number > 1; ++prime)
    for (; number % prime == 0; number /= prime)
      ++count;
  return count;
}

Mesh randomMesh(Random &random, const Setting &setting) {
  std::vector<MeshAxis> axes;
  for (int64_t count = random.between(1, 3); count > 0; --count)
    axes.push_back(
        {std::string(1, 'a' + axes.size()), random.pick(setting.axisSizes)});
  Mesh mesh(axes);
  bool fits = countPrimes(mesh.numDevices()) <= setting.maxPrimes;
  return fits ? mesh : randomMesh(random, setting);
}

/// Each axis splits a dimension, or holds terms, or does nothing.
Sharding randomSharding(Random &random, const Mesh &mesh, int64_t rank,
                        bool withTerms) {
  Sharding sharding = Sharding::closed(rank);
  std::vector<int32_t> order(mesh.axes().size());
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(order);
  for (int32_t axis : order) {
    int64_t where = random.below(rank + (withTerms ? 2 : 1));
    if (where < rank)
      sharding.dims[where].axes.push_back(mesh.fullAxis(axis));
    else if (where > rank)
      sharding.unreduced.push_back(mesh.fullAxis(axis));
  }
  llvm::sort(sharding.unreduced);
  if (!sharding.unreduced.empty())
    sharding.unreducedKind = Reduction::Sum;
  return sharding;
}

Pair randomPair(Random &random, const Setting &setting) {
  Pair pair{randomMesh(random, setting), {}, {}, {}};
  const int64_t rank = random.between(1, 3);
  for (int64_t d = 0; d < rank; ++d)
    pair.shape.push_back(random.pick(setting.dimensions));
  pair.from = randomSharding(random, pair.mesh, rank, setting.withTerms);
  pair.to = randomSharding(random, pair.mesh, rank, setting.withTerms);
  bool fits =
      localShape(pair.shape, pair.from) && localShape(pair.shape, pair.to);
  return fits ? pair : randomPair(random, setting);
}

std::string print(const Mesh &mesh) {
  std::string text = "mesh";
  for (const MeshAxis &axis : mesh.axes())
    text += " " + axis.name + "=" + std::to_string(axis.size);
  return text;
}

std::string describe(const Pair &pair, const ReshardPlan &plan) {
  std::string text = print(pair.mesh) + ", shape";
  for (int64_t size : pair.shape)
    text += " " + std::to_string(size);
  text += ": " + print(pair.mesh, pair.from) + " -> " +
          print(pair.mesh, pair.to) + ", " + std::to_string(plan.wireBytes()) +
          " bytes";
  for (const ReshardStep &step : plan.steps)
    text += "\n  " + print(pair.mesh, step);
  return text;
}

cost::CollectiveCost costOf(llvm::ArrayRef<PriceLevel> levels) {
  std::vector<cost::LinkLevel> links;
  for (const PriceLevel &level : levels)
    links.push_back({level.span, {level.fixed * 1e-12, level.perByte * 1e-12}});
  return cost::CollectiveCost(links);
}

class ReshardOptimumTest : public testing::TestWithParam<size_t> {};

} // namespace

TEST_P(ReshardOptimumTest, NoPlanIsDearer) {
  const Setting &setting = settings[GetParam()];
  // The flag, since gtest makes a seed of the time where it is not given.
  Random random(GTEST_FLAG_GET(random_seed) * 100 + GetParam());
  const cost::CollectiveCost cost = costOf(setting.levels);
  const bool isTime = setting.levels.front().fixed != 0;
  std::map<std::pair<std::string, std::vector<int64_t>>, ReshardOptimum> optima;
  int dearer = 0, heldBack = 0;
  double worst = 1;
  std::string examples;
  for (int i = 0; i < setting.numPairs; ++i) {
    const Pair pair = randomPair(random, setting);
    auto plan = planReshard(pair.mesh, pair.shape, 4, pair.from, pair.to, cost);
    ASSERT_TRUE(plan);
    const int64_t price =
        isTime ? std::llround(plan->seconds() * 1e12) : plan->wireBytes();
    ReshardOptimum &optimum =
        optima
            .try_emplace({print(pair.mesh), pair.shape}, pair.mesh, pair.shape,
                         4, setting.levels)
            .first->second;
    if (auto better = optimum.beats(price, pair.from, pair.to, false)) {
      ++dearer;
      worst = std::max(worst, double(price) / double(*better));
      if (dearer <= 3)
        examples += std::to_string(*better) + " instead of " +
                    std::to_string(price) + " for " + describe(pair, *plan) +
                    "\n";
    } else if (isTime && optimum.beats(price, pair.from, pair.to, true)) {
      ++heldBack;
    }
  }
  EXPECT_EQ(dearer, 0) << examples;
  std::cout << setting.name << ": " << dearer << " of " << setting.numPairs
            << " dearer, by up to " << worst << "; " << heldBack
            << " more if what was all-reduced could be sliced\n";
}

INSTANTIATE_TEST_SUITE_P(Settings, ReshardOptimumTest,
                         testing::Range(size_t(0), std::size(settings)));
