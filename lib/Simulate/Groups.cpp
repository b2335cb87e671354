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

std::vector<int64_t>
simulate::devicesOf(const plan::Plan &plan,
                    const std::vector<cost::MeshAxis> &mesh) {
  if (!plan.devices())
    return {};
  const auto planned = static_cast<int64_t>(plan.devices()->size());
  std::vector<int64_t> positions = {0}, copies = {0};
  for (size_t axis = 0; axis < mesh.size(); ++axis) {
    const int64_t size = plan.mesh()->Get(axis)->size();
    const int64_t blocks = (mesh[axis].size + size - 1) / size;
    std::vector<int64_t> nextPositions, nextCopies;
    for (size_t at = 0; at < positions.size(); ++at)
      for (int64_t i = 0; i < mesh[axis].size; ++i) {
        nextPositions.push_back(positions[at] * size + i % size);
        nextCopies.push_back(copies[at] * blocks + i / size);
      }
    positions = std::move(nextPositions);
    copies = std::move(nextCopies);
  }
  std::vector<int64_t> devices(positions.size());
  for (size_t at = 0; at < positions.size(); ++at)
    devices[at] = copies[at] * planned + plan.devices()->Get(positions[at]);
  std::vector<int64_t> used = devices;
  std::ranges::sort(used);
  for (int64_t &device : devices)
    device = std::ranges::lower_bound(used, device) - used.begin();
  return devices;
}

Groups::Groups(const plan::Plan &plan, const cost::Cluster &cluster,
               const std::vector<cost::MeshAxis> &mesh,
               const std::vector<int64_t> &devices)
    : cluster(cluster), mesh(mesh), devices(devices) {
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
    placements.push_back(cost::placeGroup(cluster, dimensions, devices));
  }
  if (plan.pipeline()) {
    const std::string &axis = mesh[plan.pipeline()->axis()].name;
    pipeline = numberOf(axis);
    roles = wholeAxis(axis);
  }
}

size_t Groups::numberOf(const std::string &name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end())
    return found - names.begin();
  names.push_back(name);
  return names.size() - 1;
}

cost::GroupDimension Groups::wholeAxis(const std::string &name) const {
  return cost::groupOf(cluster, mesh, {name}, devices).front();
}

/// A part of an axis skips the digits below it.
cost::GroupDimension Groups::dimensionOf(const plan::Plan &plan,
                                         const plan::AxisRef &ref) const {
  const cost::MeshAxis &axis = mesh[ref.axis()];
  const int64_t planned = plan.mesh()->Get(ref.axis())->size();
  const cost::GroupDimension whole = wholeAxis(axis.name);
  if (ref.size() == planned)
    return whole;
  return {ref.size(), whole.stride * (planned / (ref.pre_size() * ref.size()))};
}

size_t Groups::levelBetween(uint32_t role, uint32_t other) const {
  return cost::levelBetween(cluster, roles, role, other, devices);
}
