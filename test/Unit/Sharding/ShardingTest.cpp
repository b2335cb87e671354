//===- ShardingTest.cpp - The data that a sharding places -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AllShardings.h"

#include "gtest/gtest.h"

using namespace weft::sharding;

namespace {

/// How many devices hold each element, in row-major order.
std::vector<int64_t> countHolders(const Mesh &mesh, const Shape &shape,
                                  const Sharding &sharding) {
  std::vector<int64_t> holders(shape[0] * shape[1]);
  Shape local = *localShape(shape, sharding);
  for (int64_t device = 0; device < mesh.numDevices(); ++device) {
    Shape at = localOffsets(mesh, device, shape, sharding);
    for (int64_t i = 0; i < local[0]; ++i)
      for (int64_t j = 0; j < local[1]; ++j)
        ++holders[(at[0] + i) * shape[1] + at[1] + j];
  }
  return holders;
}

TEST(Sharding, LocalPartsTileTheTensorExactly) {
  Shape shape = {24, 12};
  size_t checked = 0;
  for (const Mesh &mesh : smallMeshes())
    for (const Sharding &sharding : allShardings(mesh, 2)) {
      std::optional<Shape> local = localShape(shape, sharding);
      int64_t shards0 = numShards(sharding.dims[0].axes);
      int64_t shards1 = numShards(sharding.dims[1].axes);
      ASSERT_EQ(local.has_value(), 24 % shards0 == 0 && 12 % shards1 == 0);
      if (!local)
        continue;
      EXPECT_EQ((*local)[0] * shards0, 24);
      EXPECT_EQ((*local)[1] * shards1, 12);
      int64_t copies = mesh.numDevices() / (shards0 * shards1);
      EXPECT_EQ(countHolders(mesh, shape, sharding),
                std::vector<int64_t>(24 * 12, copies))
          << print(mesh, sharding);
      ++checked;
    }
  EXPECT_GT(checked, 500u);
}

TEST(Sharding, ADimensionThatTheAxesDoNotDivideHasNoLocalShape) {
  Sharding sharding = Sharding::open(1);
  sharding.dims[0].axes = {{0, 1, 4}};
  EXPECT_EQ(localShape({6}, sharding), std::nullopt);
  EXPECT_EQ(localShape({8}, sharding), Shape({2}));
}

TEST(Sharding, EquivalenceLooksAtPlacementAlone) {
  Sharding split = Sharding::open(2);
  split.dims[0].axes = {{0, 1, 2}};
  Sharding other = Sharding::closed(2);
  other.dims[0].axes = {{0, 1, 2}};
  other.dims[0].priority = 3;
  other.replicated = {{1, 1, 2}};
  EXPECT_TRUE(split.isEquivalentTo(other));
  EXPECT_NE(split, other);
  other.unreduced = {{2, 1, 2}};
  EXPECT_FALSE(split.isEquivalentTo(other));
  split.unreduced = other.unreduced;
  split.unreducedKind = Reduction::Max;
  EXPECT_FALSE(split.isEquivalentTo(other));
  EXPECT_FALSE(Sharding::open(1).isEquivalentTo(Sharding::open(2)));
  EXPECT_FALSE(Sharding::open(2).isEquivalentTo(split));
}

TEST(Sharding, KindDoesNotMatterWhereNothingIsUnreduced) {
  Sharding sum = Sharding::open(1), max = Sharding::open(1);
  max.unreducedKind = Reduction::Max;
  EXPECT_TRUE(sum.isEquivalentTo(max));
}

TEST(Sharding, FullyReplicatedMeansWholeAndFinal) {
  Sharding sharding = Sharding::closed(2);
  sharding.replicated = {{0, 1, 2}};
  EXPECT_TRUE(sharding.isFullyReplicated());
  sharding.unreduced = {{1, 1, 2}};
  EXPECT_FALSE(sharding.isFullyReplicated());
  sharding.unreduced.clear();
  sharding.dims[1].axes = {{1, 1, 2}};
  EXPECT_FALSE(sharding.isFullyReplicated());
}

TEST(Sharding, MentionsSeesParts) {
  Sharding sharding = Sharding::closed(1);
  sharding.dims[0].axes = {{0, 1, 2}};
  sharding.replicated = {{1, 2, 2}};
  sharding.unreduced = {{2, 1, 2}};
  EXPECT_TRUE(sharding.mentions({0, 1, 4}));
  EXPECT_FALSE(sharding.mentions({0, 2, 2}));
  EXPECT_TRUE(sharding.mentions({1, 1, 8}));
  EXPECT_FALSE(sharding.mentions({1, 1, 2}));
  EXPECT_TRUE(sharding.mentions({2, 1, 2}));
  EXPECT_FALSE(sharding.mentions({3, 1, 2}));
}

TEST(Sharding, Prints) {
  Mesh mesh({{"a", 2}, {"b", 4}, {"c", 2}, {"d", 2}});
  EXPECT_EQ(print(mesh, Sharding::open(2)), "[{?}, {?}]");
  EXPECT_EQ(print(mesh, Sharding::closed(2)), "[{}, {}]");
  EXPECT_EQ(print(mesh, Sharding::closed(0)), "[]");
  Sharding sharding = Sharding::open(2);
  sharding.dims[0] = {{{0, 1, 2}}, true, std::nullopt};
  sharding.dims[1] = {{{1, 1, 2}}, false, 1};
  sharding.replicated = {{2, 1, 2}};
  sharding.unreduced = {{3, 1, 2}};
  EXPECT_EQ(print(mesh, sharding), R"([{"a"}, {"b":(1)2, ?}p1], )"
                                   R"(replicated={"c"}, unreduced={"d"})");
  sharding.unreducedKind = Reduction::Max;
  EXPECT_NE(print(mesh, sharding).find(R"(unreduced=max{"d"})"),
            std::string::npos);
  sharding.unreducedKind = Reduction::Min;
  EXPECT_NE(print(mesh, sharding).find(R"(unreduced=min{"d"})"),
            std::string::npos);
}

} // namespace
