//===- DeviceListTest.cpp - Groups of listed devices ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/ClusterFile.h"
#include "weft/Cost/GroupsOnDevices.h"

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

TEST(DeviceListTest, EachGroupIsWhereItLies) {
  // On three nodes: neighbours of four in the middle of which a node ends.
  const std::vector<int64_t> devices = {0, 1, 2,  3,  4,  5,  6,  8,
                                        7, 9, 10, 11, 16, 17, 18, 19};
  const GroupsOnDevices groups(cluster(), {{4, 1}}, devices);
  EXPECT_EQ(groups.numberAt(0), groups.numberAt(3));
  EXPECT_EQ(groups.numberAt(0), groups.numberAt(15));
  EXPECT_EQ(groups.numberAt(4), groups.numberAt(11));
  EXPECT_NE(groups.numberAt(0), groups.numberAt(4));
  EXPECT_TRUE(groups.placement(groups.numberAt(1)).isInNode());
  EXPECT_EQ(groups.placement(groups.numberAt(6)).nodes, 2);
  EXPECT_TRUE(groups.worstOf(std::vector<int64_t>{0, 12}).isInNode());
  EXPECT_EQ(groups.worstOf(std::vector<int64_t>{0, 4, 12}).nodes, 2);
}

TEST(DeviceListTest, DevicesThatNobodyListsLieAsStridesDo) {
  Cluster machine = cluster();
  machine.axisOrder = {"data"};
  const std::vector<MeshAxis> mesh = {{"data", 2}, {"tensor", 3}};
  EXPECT_EQ(listDevices(cluster(), mesh), inOrder(6));
  EXPECT_EQ(listDevices(machine, mesh),
            (std::vector<int64_t>{0, 2, 4, 1, 3, 5}));
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
