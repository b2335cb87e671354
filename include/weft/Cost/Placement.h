//===- Placement.h - Groups of ranks on a cluster ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the ranks of a group lie. Consecutive devices fill a node, consecutive
// nodes a leaf switch, and so on. A group is a subset of mesh axes: a few
// dimensions of a size and a stride, never a list of ranks, so that its
// placement costs the same for 8 ranks and for 16384.
//
// Example: with nodes of 8 devices, data=4 x tensor=8 puts a group of `tensor`
// (8 ranks, stride 1) into one node, and a group of `data` (4 ranks, stride 8)
// on 4 nodes, one rank in each.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_PLACEMENT_H
#define WEFT_COST_PLACEMENT_H

#include "weft/Cost/Cluster.h"

namespace weft::cost {

/// Ranks that are `stride` devices apart.
struct GroupDimension {
  int64_t size = 1, stride = 1;
};

struct Placement {
  int64_t ranks = 1;
  /// 1 for a group of neighbours on different nodes. Where strides do not
  /// divide a node, the fewest that a node can have.
  int64_t ranksPerNode = 1;
  int64_t nodes = 1;
  /// The level that all traffic stays below: 0 for a node, 1 for the first
  /// level of the network.
  size_t level = 0;
  /// How much narrower the links between blocks of nodes are than those of a
  /// node: to traffic between neighbours, which few links between blocks carry,
  /// and to traffic between all pairs.
  double neighbourOversubscription = 1, pairOversubscription = 1;

  bool isInNode() const { return nodes == 1; }
};

Placement placeGroup(const Cluster &cluster,
                     std::vector<GroupDimension> dimensions);
/// The level of the links between two devices, as in Placement.
size_t levelBetween(const Cluster &cluster, int64_t device, int64_t other);
/// A group of `ranks` consecutive devices.
Placement placeNeighbours(const Cluster &cluster, int64_t ranks);

struct MeshAxis {
  std::string name;
  int64_t size = 1;
};

/// The group of the axes `group` of a mesh. Axes that the cluster's order names
/// are nearest, in that order; of the others the last one of the mesh is.
std::vector<GroupDimension> groupOf(const Cluster &cluster,
                                    const std::vector<MeshAxis> &mesh,
                                    const std::vector<std::string> &group);

} // namespace weft::cost

#endif // WEFT_COST_PLACEMENT_H
