//===- CheckShardingTest.cpp - One violation of every legality rule -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AllShardings.h"

#include "gmock/gmock.h"

using namespace weft::sharding;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

const Mesh mesh({{"a", 2}, {"b", 8}, {"c", 12}});
const AxisRef a{0, 1, 2}, b{1, 1, 8}, c{2, 1, 12};

Sharding shard(AxisList dim0, AxisList dim1 = {}) {
  Sharding sharding = Sharding::open(2);
  sharding.dims[0].axes = dim0;
  sharding.dims[1].axes = dim1;
  return sharding;
}

TEST(CheckSharding, AcceptsEveryLegalSharding) {
  for (const Mesh &small : smallMeshes())
    for (const Sharding &sharding : allShardings(small, 2))
      EXPECT_THAT(checkSharding(small, sharding, 2), IsEmpty())
          << print(small, sharding);
}

TEST(CheckSharding, Rank) {
  EXPECT_THAT(checkSharding(mesh, shard({a}), 3),
              ElementsAre("sharding has 2 dimensions but the tensor has rank "
                          "3"));
}

TEST(CheckSharding, DuplicateAxis) {
  EXPECT_THAT(checkSharding(mesh, shard({a}, {a}), 2),
              ElementsAre(R"(axis "a" is used by dim 0 and again by dim 1)"));
  Sharding sharding = shard({a, b});
  sharding.replicated = {a};
  sharding.unreduced = {b};
  EXPECT_THAT(
      checkSharding(mesh, sharding, 2),
      ElementsAre(R"(axis "a" is used by dim 0 and again by replicated)",
                  R"(axis "b" is used by dim 0 and again by unreduced)"));
}

TEST(CheckSharding, OverlappingAxes) {
  EXPECT_THAT(checkSharding(mesh, shard({{1, 1, 4}}, {{1, 2, 4}}), 2),
              ElementsAre(R"(axis "b":(1)4 of dim 0 overlaps "b":(2)4 )"
                          R"(of dim 1)"));
  EXPECT_THAT(checkSharding(mesh, shard({b}, {{1, 2, 2}}), 2),
              ElementsAre(R"(axis "b" of dim 0 overlaps "b":(2)2 of dim 1)"));
}

TEST(CheckSharding, PartsOfDifferentFactorizations) {
  EXPECT_THAT(checkSharding(mesh, shard({{2, 1, 2}}, {{2, 3, 4}}), 2),
              ElementsAre(R"(sub-axes "c":(1)2 of dim 0 and "c":(3)4 of dim 1)"
                          " are not parts of one factorization"));
}

TEST(CheckSharding, SubAxisThatDoesNotFactorTheAxis) {
  const char *message = R"(sub-axis "b":(2)3 of dim 1 does not factor axis )"
                        R"("b" of size 8)";
  EXPECT_THAT(checkSharding(mesh, shard({}, {{1, 2, 3}}), 2),
              ElementsAre(message));
  for (AxisRef wrong : {AxisRef{1, 1, 16}, AxisRef{1, 8, 2}, AxisRef{1, 2, 1},
                        AxisRef{1, 0, 2}, AxisRef{1, 2, 8}})
    EXPECT_EQ(checkSharding(mesh, shard({wrong}), 2).size(), 1u);
}

TEST(CheckSharding, UnknownAxis) {
  EXPECT_THAT(checkSharding(mesh, shard({{7, 1, 2}}), 2),
              ElementsAre("axis number 7 of dim 0 is not one of the 3 axes of "
                          "the mesh"));
}

TEST(CheckSharding, NeighboursThatAreOneAxis) {
  EXPECT_THAT(checkSharding(mesh, shard({{1, 1, 2}, {1, 2, 2}}), 2),
              ElementsAre(R"(neighbours "b":(1)2 and "b":(2)2 of dim 0 are )"
                          R"(one axis: write "b":(1)4)"));
  Sharding sharding = shard({});
  sharding.replicated = {{1, 1, 2}, {1, 2, 4}};
  EXPECT_THAT(checkSharding(mesh, sharding, 2),
              ElementsAre(R"(neighbours "b":(1)2 and "b":(2)4 of replicated )"
                          R"(are one axis: write "b")"));
}

TEST(CheckSharding, MeshOrder) {
  Sharding sharding = shard({});
  sharding.replicated = {b, a};
  sharding.unreduced = {{2, 2, 2}, {2, 1, 2}};
  EXPECT_THAT(
      checkSharding(mesh, sharding, 2),
      ElementsAre(R"(replicated axes {"b", "a"} are not in mesh order: write )"
                  R"({"a", "b"})",
                  R"(unreduced axes {"c":(2)2, "c":(1)2} are not in mesh )"
                  R"(order: write {"c":(1)2, "c":(2)2})"));
}

TEST(CheckSharding, Priorities) {
  Sharding sharding = shard({}, {a});
  sharding.dims[0].closed = true;
  sharding.dims[0].priority = 1;
  sharding.dims[1].priority = -2;
  EXPECT_THAT(checkSharding(mesh, sharding, 2),
              ElementsAre("dim 0 has priority 1 but is empty and closed: "
                          "remove the priority, or open the dimension with ?",
                          "dim 1 has priority -2, priorities start at 0"));
  sharding.dims[0].closed = false;
  sharding.dims[1].priority = 2;
  EXPECT_THAT(checkSharding(mesh, sharding, 2), IsEmpty());
}

} // namespace
