//===- Groups.h - Groups of a plan on a cluster -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the groups of a plan lie, and what tables call their axes. Axes may
// have another size than in the plan, and then lie on other devices.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SIMULATE_GROUPS_H
#define WEFT_LIB_SIMULATE_GROUPS_H

#include "weft/Cost/CostModel.h"
#include "weft/Cost/DeviceList.h"
#include "weft/runtime/plan_generated.h"

#include <optional>

namespace weft::simulate {

/// The device of each position of a mesh whose axes have other sizes than in
/// the plan; empty where the plan lists no devices. Along an axis that grows,
/// the machine is repeated; devices that nothing is left of leave no gap.
std::vector<int64_t> devicesOf(const plan::Plan &plan,
                               const std::vector<cost::MeshAxis> &mesh);

struct RankKind {
  /// The first of them in a mesh's order, and how many a role has.
  int64_t rank = 0, ranks = 0;
};

class Groups {
public:
  /// `rank` is a position of the mesh: its groups where they lie, and those of
  /// the ranks of other roles that have the same place in theirs; without it
  /// each group where the worst along its axes lies.
  Groups(const plan::Plan &plan, const cost::Cluster &cluster,
         const std::vector<cost::MeshAxis> &mesh,
         const std::vector<int64_t> &devices,
         std::optional<int64_t> rank = std::nullopt);

  /// Of each set of axes that groups have: "data", "data, model".
  const std::vector<std::string> &axes() const { return names; }
  /// The number of a group's axes.
  size_t axesOf(uint32_t group) const { return numbers[group]; }
  /// The software computes nothing while this group communicates.
  bool blocks(uint32_t group) const { return blocking[group]; }
  const cost::Placement &placementOf(uint32_t group) const {
    return placements[group];
  }

  /// Of the axis of the pipeline; in a plan that has one.
  size_t pipelineAxes() const { return pipeline; }
  /// The level of the links between two roles.
  size_t levelBetween(uint32_t role, uint32_t other) const;
  /// Of each of `axes`, where its groups lie: the worst of them.
  std::vector<cost::Placement> placementsOfAxes() const;

  /// Ranks of which one stands for all: their groups, those of the ranks of
  /// other roles that have the same place in theirs, and messages between these
  /// lie alike. Of a mesh whose devices are listed.
  std::vector<RankKind> rankKinds() const;

private:
  size_t numberOf(const std::string &name);
  /// The positions of a role's rank and of those with the same place in others.
  std::vector<int64_t> columnOf(int64_t rank) const;
  /// The axis in positions, where devices are listed, otherwise in devices.
  cost::GroupDimension wholeAxis(const std::string &name) const;
  cost::GroupDimension dimensionOf(const plan::Plan &plan,
                                   const plan::AxisRef &ref) const;

  const cost::Cluster &cluster;
  const std::vector<cost::MeshAxis> &mesh;
  const std::vector<int64_t> &devices;
  std::vector<std::string> names;
  std::vector<size_t> numbers;
  std::vector<bool> blocking;
  std::vector<std::vector<cost::GroupDimension>> dimensions;
  std::vector<cost::Placement> placements;
  std::optional<int64_t> rank;
  std::string pipelineAxis;
  size_t pipeline = 0;
  /// Without a pipeline one.
  cost::GroupDimension roles;
};

} // namespace weft::simulate

#endif // WEFT_LIB_SIMULATE_GROUPS_H
