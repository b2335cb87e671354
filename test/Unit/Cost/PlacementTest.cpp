//===- PlacementTest.cpp - Groups on nodes and switches -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/Placement.h"
#include "weft/Cost/ClusterFile.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <map>

using namespace weft;
using namespace weft::cost;

static Cluster cluster() { return *loadCluster("dgx-h100").cluster; }

TEST(PlacementTest, NeighboursFillNodes) {
  EXPECT_EQ(placeNeighbours(cluster(), 8).nodes, 1);
  EXPECT_EQ(placeNeighbours(cluster(), 8).level, 0u);
  const Placement two = placeNeighbours(cluster(), 16);
  EXPECT_EQ(two.nodes, 2);
  EXPECT_EQ(two.ranksPerNode, 8);
  EXPECT_EQ(two.level, 1u);
  EXPECT_EQ(placeNeighbours(cluster(), 32 * 8).level, 1u);
  EXPECT_EQ(placeNeighbours(cluster(), 64 * 8).level, 2u);
  EXPECT_EQ(placeNeighbours(cluster(), 2048 * 8).level, 3u);
}

TEST(PlacementTest, StridesSpreadOverNodes) {
  const Placement spread = placeGroup(cluster(), {{4, 8}});
  EXPECT_EQ(spread.ranksPerNode, 1);
  EXPECT_EQ(spread.nodes, 4);
  EXPECT_EQ(placeGroup(cluster(), {{2, 4}}).nodes, 1);
  EXPECT_EQ(placeGroup(cluster(), {{4, 4}}).nodes, 2);
  EXPECT_EQ(placeGroup(cluster(), {{2, 1}, {4, 8}}).ranksPerNode, 2);
  EXPECT_EQ(placeGroup(cluster(), {{1, 1}}).ranks, 1);
}

TEST(PlacementTest, DevicesAreAsFarAsTheirNodes) {
  EXPECT_EQ(levelBetween(cluster(), 0, 7), 0u);
  EXPECT_EQ(levelBetween(cluster(), 7, 8), 1u);
  EXPECT_EQ(levelBetween(cluster(), 0, 32 * 8 - 1), 1u);
  EXPECT_EQ(levelBetween(cluster(), 32 * 8 - 1, 32 * 8), 2u);
  EXPECT_EQ(levelBetween(cluster(), 0, 128 * 8), 3u);
  EXPECT_EQ(levelBetween(*loadCluster("cpu-2core").cluster, 0, 1), 0u);
}

/// The members of a group one by one, where strides divide nodes.
TEST(PlacementTest, AgreesWithCounting) {
  for (int64_t size : {2, 4, 8, 16})
    for (int64_t stride : {1, 2, 4, 8, 16, 64})
      for (int64_t outer : {1, 2, 8}) {
        const int64_t outerStride = size * stride * 2;
        std::map<int64_t, int64_t> nodes;
        for (int64_t i = 0; i < size; ++i)
          for (int64_t j = 0; j < outer; ++j)
            ++nodes[(i * stride + j * outerStride) / 8];
        const Placement placed =
            placeGroup(cluster(), {{size, stride}, {outer, outerStride}});
        EXPECT_EQ(placed.nodes, static_cast<int64_t>(nodes.size()))
            << size << " " << stride << " " << outer;
        EXPECT_EQ(placed.ranksPerNode, nodes.begin()->second);
      }
}

TEST(PlacementTest, OversubscriptionNarrowsPairsMoreThanRings) {
  Cluster narrow = cluster();
  narrow.network->levels[0].oversubscription = 4;
  EXPECT_EQ(placeNeighbours(narrow, 256).pairOversubscription, 1);
  const Placement wide = placeNeighbours(narrow, 1024);
  EXPECT_DOUBLE_EQ(wide.pairOversubscription, 4 * 0.75);
  EXPECT_EQ(wide.neighbourOversubscription, 1);
  // One node in each block: the ring leaves the block at every hop.
  EXPECT_DOUBLE_EQ(placeGroup(narrow, {{4, 256}}).neighbourOversubscription, 4);
}

TEST(PlacementTest, AxesLieInTheirOrder) {
  const std::vector<MeshAxis> mesh = {{"data", 4}, {"tensor", 8}};
  Cluster machine = cluster();
  EXPECT_EQ(placeGroup(machine, groupOf(machine, mesh, {"tensor"})).nodes, 1);
  EXPECT_EQ(placeGroup(machine, groupOf(machine, mesh, {"data"})).nodes, 4);
  machine.axisOrder = {"data"};
  EXPECT_EQ(placeGroup(machine, groupOf(machine, mesh, {"data"})).nodes, 1);
  EXPECT_EQ(placeGroup(machine, groupOf(machine, mesh, {"tensor"})).nodes, 4);
  EXPECT_EQ(
      placeGroup(machine, groupOf(machine, mesh, {"data", "tensor"})).ranks,
      32);
}
