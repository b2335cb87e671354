//===- MeshTest.cpp - Ranks as coordinates of a mesh ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/Mesh.h"
#include "PlanBuilder.h"

#include <gmock/gmock.h>

namespace weft::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct MeshTest : testing::Test {
  PlanBuilder builder{{{"data", 2}, {"model", 4}}};
  Plan plan = builder.build();
  Mesh mesh{plan.contents()};

  std::vector<plan::AxisRef> axes(const std::vector<std::string> &names) {
    return builder.axes(names)->axes;
  }
};

TEST_F(MeshTest, PositionsAreMixedRadix) {
  // Rank 6 = (data 1, model 2); model 2 = digits [1, 0].
  EXPECT_EQ(mesh.position(6, axes({"data"})), 1);
  EXPECT_EQ(mesh.position(6, axes({"model"})), 2);
  EXPECT_EQ(mesh.position(6, axes({"model:(1)2"})), 1);
  EXPECT_EQ(mesh.position(6, axes({"model:(2)2"})), 0);
  EXPECT_EQ(mesh.position(6, axes({"model:(2)2", "data"})), 1);
  EXPECT_EQ(mesh.position(6, axes({"model", "data"})), 5);
  EXPECT_EQ(mesh.position(6, {}), 0);
}

TEST_F(MeshTest, RankAtInvertsPosition) {
  for (const auto &names : std::vector<std::vector<std::string>>{
           {"data"}, {"model", "data"}, {"model:(2)2", "data"}, {}})
    for (int64_t rank = 0; rank < 8; ++rank) {
      const auto list = axes(names);
      EXPECT_EQ(mesh.rankAt(rank, list, mesh.position(rank, list)), rank);
      for (int64_t p = 0; p < groupSize(list); ++p)
        EXPECT_EQ(mesh.position(mesh.rankAt(rank, list, p), list), p);
    }
}

TEST_F(MeshTest, Groups) {
  EXPECT_THAT(mesh.groups(axes({"data"})),
              ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5),
                          ElementsAre(2, 6), ElementsAre(3, 7)));
  EXPECT_THAT(mesh.groups(axes({"model:(2)2", "data"})),
              ElementsAre(ElementsAre(0, 4, 1, 5), ElementsAre(2, 6, 3, 7)));
  EXPECT_EQ(mesh.groups({}).size(), 8u);
}

TEST_F(MeshTest, RanksAreTheDevicesListed) {
  builder.table.devices = {0, 2, 4, 6, 1, 3, 5, 7};
  const Plan listed = builder.build();
  const Mesh mesh(listed.contents());
  EXPECT_EQ(mesh.position(6, axes({"data"})), 0);
  EXPECT_EQ(mesh.position(6, axes({"model"})), 3);
  EXPECT_EQ(mesh.rankAt(6, axes({"data"}), 1), 7);
  EXPECT_THAT(mesh.groups(axes({"data"})),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3),
                          ElementsAre(4, 5), ElementsAre(6, 7)));
  EXPECT_THAT(mesh.groups(axes({"model"})),
              ElementsAre(ElementsAre(0, 2, 4, 6), ElementsAre(1, 3, 5, 7)));
  for (int64_t rank = 0; rank < 8; ++rank)
    EXPECT_EQ(mesh.rankAt(rank, axes({"model", "data"}),
                          mesh.position(rank, axes({"model", "data"}))),
              rank);
}

TEST_F(MeshTest, PermutationOfDisjointAxesSwapsThem) {
  const auto from = axes({"data"}), to = axes({"model:(1)2"});
  for (int64_t rank = 0; rank < 8; ++rank) {
    const int64_t source = mesh.permuteSource(rank, from, to);
    EXPECT_EQ(mesh.position(source, from), mesh.position(rank, to));
    EXPECT_EQ(mesh.position(source, to), mesh.position(rank, from));
    EXPECT_EQ(mesh.position(source, axes({"model:(2)2"})),
              mesh.position(rank, axes({"model:(2)2"})));
  }
}

TEST_F(MeshTest, PermutationOfOrder) {
  const auto from = axes({"data", "model"}), to = axes({"model", "data"});
  for (int64_t rank = 0; rank < 8; ++rank)
    EXPECT_EQ(mesh.position(mesh.permuteSource(rank, from, to), from),
              mesh.position(rank, to));
}

TEST_F(MeshTest, PermutationAroundARing) {
  const auto ring = axes({"model:(2)2", "data"});
  for (int64_t rank = 0; rank < 8; ++rank) {
    const int64_t source = mesh.permuteSource(rank, ring, ring, 3);
    EXPECT_EQ(mesh.position(source, ring), (mesh.position(rank, ring) + 3) % 4);
    EXPECT_EQ(mesh.position(source, axes({"model:(1)2"})),
              mesh.position(rank, axes({"model:(1)2"})));
  }
}

TEST_F(MeshTest, PermutationOfOverlappingParts) {
  // model = [a, b]: from [data, a] to [model] leaves data and b exchanged.
  const auto from = axes({"data", "model:(1)2"}), to = axes({"model"});
  ASSERT_TRUE(mesh.checkPermutation(from, to).ok());
  std::vector<bool> seen(8);
  for (int64_t rank = 0; rank < 8; ++rank) {
    const int64_t source = mesh.permuteSource(rank, from, to);
    EXPECT_EQ(mesh.position(source, from), mesh.position(rank, to));
    EXPECT_EQ(mesh.position(source, axes({"model:(2)2"})),
              mesh.position(rank, axes({"data"})));
    EXPECT_FALSE(seen[source]);
    seen[source] = true;
  }
}

TEST_F(MeshTest, Covers) {
  const auto model = axes({"model"});
  EXPECT_TRUE(mesh.covers(model, builder.axis("model:(2)2")));
  EXPECT_FALSE(mesh.covers(axes({"model:(1)2"}), builder.axis("model")));
  EXPECT_TRUE(
      mesh.covers(axes({"model:(2)2", "model:(1)2"}), builder.axis("model")));
  EXPECT_FALSE(mesh.covers(axes({"data"}), builder.axis("model")));
}

TEST_F(MeshTest, Errors) {
  EXPECT_THAT(mesh.checkAxes({plan::AxisRef(7, 1, 2)}, "group 3").message(),
              HasSubstr("group 3 names mesh axis 7, but the mesh has 2 axes"));
  EXPECT_THAT(mesh.checkAxes({plan::AxisRef(1, 1, 3)}, "x").message(),
              HasSubstr("x: part (1)3 does not divide mesh axis \"model\" of "
                        "size 4"));
  EXPECT_FALSE(mesh.checkAxes({plan::AxisRef(1, 0, 2)}, "x").ok());
  EXPECT_FALSE(mesh.checkAxes({plan::AxisRef(1, 1, -2)}, "x").ok());
  EXPECT_FALSE(
      mesh.checkAxes({plan::AxisRef(1, int64_t(1) << 62, 4)}, "x").ok());
  EXPECT_THAT(mesh.checkAxes(axes({"model", "model:(2)2"}), "x").message(),
              HasSubstr("x: {\"model\"} and {\"model\":(2)2} overlap"));
  EXPECT_THAT(mesh.checkPermutation(axes({"data"}), axes({"model"})).message(),
              HasSubstr("sizes 2 and 4 differ"));
}

TEST(Mesh, PartsWithoutCommonFactorisation) {
  PlanBuilder builder({{"a", 6}, {"b", 6}});
  const Plan plan = builder.build();
  const Mesh mesh(plan.contents());
  EXPECT_THAT(
      mesh.checkAxes({plan::AxisRef(0, 1, 2), plan::AxisRef(0, 3, 2)}, "x")
          .message(),
      HasSubstr("overlap"));
  const std::vector<plan::AxisRef> from{plan::AxisRef(0, 1, 2),
                                        plan::AxisRef(1, 1, 3)};
  const std::vector<plan::AxisRef> to{plan::AxisRef(0, 3, 2),
                                      plan::AxisRef(1, 1, 3)};
  EXPECT_THAT(mesh.checkPermutation(from, to).message(),
              HasSubstr("has no factorisation with the cuts 2 and 3"));
}

} // namespace
} // namespace weft::runtime
