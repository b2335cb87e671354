//===- Groups.cpp - Groups of a plan on a cluster -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Groups.h"

#include <algorithm>
#include <set>

using namespace weft;
using namespace weft::simulate;

Groups::Groups(const plan::Plan &plan, const cost::Cluster &cluster,
               const std::vector<cost::MeshAxis> &mesh)
    : cluster(cluster), mesh(mesh) {
  for (const plan::AxisList *group : *plan.groups()) {
    // In the order of the mesh, whatever that of the ranks is.
    std::set<uint32_t> axes;
    std::vector<cost::GroupDimension> dimensions;
    for (const plan::AxisRef *ref : *group->axes()) {
      axes.insert(ref->axis());
      dimensions.push_back(dimensionOf(plan, *ref));
    }
    std::string name;
    bool blocks = false;
    for (uint32_t axis : axes) {
      name += (name.empty() ? "" : ", ") + mesh[axis].name;
      blocks |= std::ranges::count(cluster.software.blockingAxes,
                                   mesh[axis].name) > 0;
    }
    blocking.push_back(blocks);
    numbers.push_back(numberOf(name));
    placements.push_back(cost::placeGroup(cluster, dimensions));
  }
  if (plan.pipeline()) {
    const std::string &axis = mesh[plan.pipeline()->axis()].name;
    pipeline = numberOf(axis);
    roleStride = cost::groupOf(cluster, mesh, {axis}).front().stride;
  }
}

size_t Groups::numberOf(const std::string &name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end())
    return found - names.begin();
  names.push_back(name);
  return names.size() - 1;
}

/// A part of an axis skips the digits below it.
cost::GroupDimension Groups::dimensionOf(const plan::Plan &plan,
                                         const plan::AxisRef &ref) const {
  const cost::MeshAxis &axis = mesh[ref.axis()];
  const int64_t planned = plan.mesh()->Get(ref.axis())->size();
  const cost::GroupDimension whole =
      cost::groupOf(cluster, mesh, {axis.name}).front();
  if (ref.size() == planned)
    return whole;
  return {ref.size(), whole.stride * (planned / (ref.pre_size() * ref.size()))};
}

size_t Groups::levelBetween(uint32_t role, uint32_t other) const {
  return cost::levelBetween(cluster, role * roleStride, other * roleStride);
}
