//===- Placement.cpp - Groups of ranks on a cluster -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/Placement.h"

#include "NarrowLinks.h"

#include <algorithm>

using namespace weft;
using namespace weft::cost;

/// Ranks of a group that a block of consecutive devices has; `dimensions` from
/// the smallest stride.
static int64_t ranksInBlock(const std::vector<GroupDimension> &dimensions,
                            int64_t block) {
  int64_t ranks = 1;
  for (const GroupDimension &dimension : dimensions)
    ranks *= std::min(dimension.size,
                      std::max<int64_t>(1, block / dimension.stride));
  return ranks;
}

Placement cost::placeGroup(const Cluster &cluster,
                           std::vector<GroupDimension> dimensions) {
  std::erase_if(dimensions, [](const auto &dim) { return dim.size <= 1; });
  std::sort(dimensions.begin(), dimensions.end(),
            [](const auto &a, const auto &b) { return a.stride < b.stride; });
  Placement placement;
  for (const GroupDimension &dimension : dimensions)
    placement.ranks *= dimension.size;
  // Without a network all ranks are in one node, however many they are.
  placement.ranksPerNode = cluster.network
                               ? ranksInBlock(dimensions, cluster.node.devices)
                               : placement.ranks;
  placement.nodes =
      (placement.ranks + placement.ranksPerNode - 1) / placement.ranksPerNode;
  narrow(cluster, placement,
         [&](int64_t block) { return ranksInBlock(dimensions, block); });
  return placement;
}

size_t cost::levelBetween(const Cluster &cluster, int64_t device,
                          int64_t other) {
  const int64_t devices = cluster.node.devices;
  if (device / devices == other / devices || !cluster.network)
    return 0;
  const std::vector<NetworkLevel> &levels = cluster.network->levels;
  size_t level = 1;
  while (level < levels.size() && device / devices / levels[level - 1].nodes !=
                                      other / devices / levels[level - 1].nodes)
    ++level;
  return level;
}

Placement cost::placeNeighbours(const Cluster &cluster, int64_t ranks) {
  return placeGroup(cluster, {{ranks, 1}});
}

std::vector<GroupDimension>
cost::groupOf(const Cluster &cluster, const std::vector<MeshAxis> &mesh,
              const std::vector<std::string> &group) {
  std::vector<const MeshAxis *> nearestFirst;
  for (const std::string &name : cluster.axisOrder)
    for (const MeshAxis &axis : mesh)
      if (axis.name == name)
        nearestFirst.push_back(&axis);
  for (auto axis = mesh.rbegin(); axis != mesh.rend(); ++axis)
    if (std::find(nearestFirst.begin(), nearestFirst.end(), &*axis) ==
        nearestFirst.end())
      nearestFirst.push_back(&*axis);
  std::vector<GroupDimension> dimensions;
  int64_t stride = 1;
  for (const MeshAxis *axis : nearestFirst) {
    if (std::find(group.begin(), group.end(), axis->name) != group.end())
      dimensions.push_back({axis->size, stride});
    stride *= axis->size;
  }
  return dimensions;
}
