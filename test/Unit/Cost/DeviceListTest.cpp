//===- DeviceListTest.cpp - Groups of listed devices ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/DeviceList.h"
#include "weft/Cost/ClusterFile.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace weft;
using namespace weft::cost;

static Cluster cluster() { return *loadCluster("dgx-h100").cluster; }

/// data=2 x tensor=8, row-major: the groups of tensor are nodes.
static const std::vector<GroupDimension> data = {{2, 8}}, tensor = {{8, 1}};

static std::vector<int64_t> inOrder(int64_t count) {
  std::vector<int64_t> devices(count);
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

/// Neighbours along data are neighbours.
static std::vector<int64_t> transposed() {
  std::vector<int64_t> devices;
  for (int64_t position = 0; position < 16; ++position)
    devices.push_back(position % 8 * 2 + position / 8);
  return devices;
}

TEST(DeviceListTest, DevicesInOrderLieAsStridesDo) {
  Cluster narrow = cluster();
  narrow.network->levels[0].oversubscription = 4;
  const std::vector<int64_t> devices = inOrder(1024);
  for (int64_t size : {1, 2, 8, 64, 128})
    for (int64_t stride : {1, 2, 8}) {
      const Placement listed = placeGroup(narrow, {{size, stride}}, devices);
      const Placement strided = placeGroup(narrow, {{size, stride}});
      EXPECT_EQ(listed.ranks, strided.ranks);
      EXPECT_EQ(listed.ranksPerNode, strided.ranksPerNode);
      EXPECT_EQ(listed.nodes, strided.nodes);
      EXPECT_EQ(listed.level, strided.level);
      EXPECT_EQ(listed.neighbourOversubscription,
                strided.neighbourOversubscription);
      EXPECT_EQ(listed.pairOversubscription, strided.pairOversubscription);
    }
}

TEST(DeviceListTest, AnotherOrderPutsAnotherAxisInNodes) {
  EXPECT_EQ(placeGroup(cluster(), data, inOrder(16)).level, 1u);
  EXPECT_EQ(placeGroup(cluster(), data, transposed()).level, 0u);
  EXPECT_EQ(placeGroup(cluster(), tensor, inOrder(16)).level, 0u);
  const Placement spread = placeGroup(cluster(), tensor, transposed());
  EXPECT_EQ(spread.level, 1u);
  EXPECT_EQ(spread.nodes, 2);
  EXPECT_EQ(spread.ranksPerNode, 4);
}

TEST(DeviceListTest, TheGroupThatLiesWorstCounts) {
  // Of two groups of tensor one has a device of the other node.
  std::vector<int64_t> devices = inOrder(16);
  std::swap(devices[3], devices[12]);
  const Placement placed = placeGroup(cluster(), tensor, devices);
  EXPECT_EQ(placed.nodes, 2);
  EXPECT_EQ(placed.ranksPerNode, 1);
  EXPECT_EQ(placed.level, 1u);
  EXPECT_EQ(levelBetween(cluster(), {8, 1}, 0, 1, devices), 0u);
  EXPECT_EQ(levelBetween(cluster(), {8, 1}, 0, 3, devices), 1u);
  EXPECT_EQ(levelBetween(cluster(), {8, 1}, 3, 4, {}), 0u);
}

TEST(DeviceListTest, SpansAreBlocksOfDevices) {
  EXPECT_EQ(spanOf(tensor, inOrder(16)), 8);
  EXPECT_EQ(spanOf(data, inOrder(16)), 16);
  EXPECT_EQ(spanOf(data, transposed()), 2);
  EXPECT_EQ(spanOf(tensor, transposed()), 16);
  EXPECT_EQ(spanOf({}, transposed()), 1);
}

TEST(DeviceListTest, ListedAxesAreRowMajor) {
  Cluster machine = cluster();
  machine.axisOrder = {"data"};
  const std::vector<MeshAxis> mesh = {{"data", 2}, {"tensor", 8}};
  EXPECT_EQ(groupOf(machine, mesh, {"data"}, {}).front().stride, 1);
  EXPECT_EQ(groupOf(machine, mesh, {"data"}, transposed()).front().stride, 8);
}

TEST(DeviceListTest, WithoutANetworkThereIsOneNode) {
  const Cluster machine = *loadCluster("cpu-2core").cluster;
  EXPECT_TRUE(placeGroup(machine, tensor, transposed()).isInNode());
}
