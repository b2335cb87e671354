//===- ProjectionTest.cpp - Shardings seen along factors ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/Projection.h"

#include "AllShardings.h"

#include "gmock/gmock.h"

using namespace weft::sharding;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

/// A tensor whose dimensions have the given factor sizes.
struct Tensor {
  TensorFactors tensor;
  llvm::SmallVector<Factor> factors;

  Tensor(std::initializer_list<std::initializer_list<int64_t>> dims) {
    for (auto dim : dims) {
      tensor.emplace_back();
      for (int64_t size : dim) {
        tensor.back().push_back(factors.size());
        factors.push_back({size, FactorKind::PassThrough, false});
      }
    }
  }
};

const std::initializer_list<Tensor> tensors = {
    {{8}, {12}},         {{2, 4}, {3, 4}}, {{4, 2}, {4, 3}},
    {{2, 2, 2}, {2, 6}}, {{3, 2}, {5, 7}}, {{1, 8}, {6, 1, 2}},
    {{9, 2, 3}, {2, 1}}};

TEST(Projection, UnprojectingGivesTheShardingBack) {
  size_t checked = 0;
  for (const Mesh &mesh : smallMeshes())
    for (Sharding sharding : allShardings(mesh, 2))
      for (bool closed : {false, true}) {
        sharding.dims[1].closed = closed;
        for (const Tensor &each : tensors) {
          TensorProjection projection =
              project(each.tensor, each.factors, &sharding);
          Sharding back = unproject(each.tensor, each.factors, projection);
          ASSERT_EQ(back, sharding)
              << print(mesh, sharding) << " became " << print(mesh, back);
          ++checked;
        }
      }
  EXPECT_GT(checked, 5000u);
}

/// What the dimension of `tensor` says after losing and regaining factors.
TEST(Projection, AxesAreDealtToFactorsThatTheyDivide) {
  for (const Mesh &mesh : smallMeshes())
    for (const Sharding &sharding : allShardings(mesh, 2))
      for (const Tensor &each : tensors)
        for (const FactorSharding &factor :
             project(each.tensor, each.factors, &sharding).factors) {
          if (factor.minorMost) {
            EXPECT_THAT(factor.overflow, IsEmpty());
            continue;
          }
          EXPECT_EQ(each.factors[factor.factor].size % numShards(factor.axes),
                    0);
        }
}

Sharding splitFirst(AxisList axes, size_t rank = 1) {
  Sharding sharding = Sharding::open(rank);
  sharding.dims[0].axes = axes;
  return sharding;
}

TEST(Projection, CutsAnAxisThatIsLargerThanItsFactor) {
  Tensor tensor = {{4, 8}};
  AxisRef a{0, 1, 2}, c{1, 1, 4};
  Sharding sharding = splitFirst({a, c});
  TensorProjection projection =
      project(tensor.tensor, tensor.factors, &sharding);
  ASSERT_EQ(projection.factors.size(), 2u);
  EXPECT_THAT(projection.factors[0].axes, ElementsAre(a, AxisRef{1, 1, 2}));
  EXPECT_THAT(projection.factors[1].axes, ElementsAre(AxisRef{1, 2, 2}));
  EXPECT_FALSE(projection.factors[0].minorMost);
  EXPECT_TRUE(projection.factors[1].minorMost);
}

TEST(Projection, AxesThatDoNotDivideOverflow) {
  Tensor tensor = {{4, 8, 2}};
  AxisRef a{0, 1, 2}, b{1, 1, 3}, c{2, 1, 2};
  Sharding sharding = splitFirst({a, b, c});
  TensorProjection projection =
      project(tensor.tensor, tensor.factors, &sharding);
  ASSERT_EQ(projection.factors.size(), 2u) << "the third factor is missing";
  EXPECT_THAT(projection.factors[0].axes, ElementsAre(a));
  EXPECT_THAT(projection.factors[0].overflow, ElementsAre(b, c));
  EXPECT_FALSE(projection.factors[0].closed);
  EXPECT_THAT(projection.factors[1].axes, IsEmpty());
  EXPECT_TRUE(projection.factors[1].closed);
  EXPECT_EQ(projection.find(2), nullptr);
}

TEST(Projection, TheMinorMostFactorTakesAllAxes) {
  Tensor tensor = {{4, 2}};
  AxisRef a{0, 1, 4}, b{1, 1, 3};
  Sharding sharding = splitFirst({a, b});
  TensorProjection projection =
      project(tensor.tensor, tensor.factors, &sharding);
  EXPECT_THAT(projection.factors[0].axes, ElementsAre(a));
  EXPECT_THAT(projection.factors[1].axes, ElementsAre(b));
}

TEST(Projection, MissingShardingIsOpenOrClosed) {
  Tensor tensor = {{4}, {2}};
  for (bool closed : {false, true})
    for (const FactorSharding &factor :
         project(tensor.tensor, tensor.factors, nullptr, closed).factors) {
      EXPECT_EQ(factor.closed, closed);
      EXPECT_THAT(factor.axes, IsEmpty());
    }
}

TEST(Projection, UnprojectingNeverSplitsWithStrides) {
  Tensor tensor = {{4, 8}};
  TensorProjection projection = project(tensor.tensor, tensor.factors, nullptr);
  projection.find(0)->axes = {{0, 1, 2}};
  projection.find(1)->axes = {{1, 1, 2}};
  projection.find(1)->closed = true;
  Sharding sharding = unproject(tensor.tensor, tensor.factors, projection);
  EXPECT_THAT(sharding.dims[0].axes, ElementsAre(AxisRef{0, 1, 2}));
  EXPECT_FALSE(sharding.dims[0].closed) << "the closed factor is not reached";
}

TEST(Projection, UnprojectingMergesAcrossFactors) {
  Tensor tensor = {{2, 8}};
  TensorProjection projection = project(tensor.tensor, tensor.factors, nullptr);
  projection.find(0)->axes = {{0, 1, 2}};
  projection.find(1)->axes = {{0, 2, 2}};
  projection.find(1)->closed = true;
  Sharding sharding = unproject(tensor.tensor, tensor.factors, projection);
  EXPECT_THAT(sharding.dims[0].axes, ElementsAre(AxisRef{0, 1, 4}));
  EXPECT_TRUE(sharding.dims[0].closed);
}

TEST(Projection, CarriesReplicatedAndUnreducedAxes) {
  Tensor tensor = {{8}};
  Sharding sharding = splitFirst({});
  sharding.replicated = {{0, 1, 2}};
  sharding.unreduced = {{1, 1, 2}};
  sharding.unreducedKind = Reduction::Max;
  EXPECT_EQ(unproject(tensor.tensor, tensor.factors,
                      project(tensor.tensor, tensor.factors, &sharding)),
            sharding);
}

} // namespace
