//===- Groups.cpp - Groups of a plan on a cluster -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Groups.h"

#include "weft/Cost/GroupsOnDevices.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

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
               const std::vector<int64_t> &devices, std::optional<int64_t> rank)
    : cluster(cluster), mesh(mesh), devices(devices), rank(rank) {
  if (plan.pipeline()) {
    const std::string &axis = mesh[plan.pipeline()->axis()].name;
    pipelineAxis = axis;
    roles = wholeAxis(axis);
  }
  for (const plan::AxisList *group : *plan.groups()) {
    // In the order of the mesh, whatever that of the ranks is.
    std::set<uint32_t> axes;
    std::vector<cost::GroupDimension> &own = dimensions.emplace_back();
    for (const plan::AxisRef *ref : *group->axes()) {
      axes.insert(ref->axis());
      own.push_back(dimensionOf(plan, *ref));
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
    placements.push_back(rank ? cost::GroupsOnDevices(cluster, own, devices)
                                    .worstOf(columnOf(*rank))
                              : cost::placeGroup(cluster, own, devices));
  }
  if (plan.pipeline())
    pipeline = numberOf(pipelineAxis);
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

std::vector<int64_t> Groups::columnOf(int64_t rank) const {
  std::vector<int64_t> column(roles.size);
  const int64_t first = rank - rank / roles.stride % roles.size * roles.stride;
  for (int64_t role = 0; role < roles.size; ++role)
    column[role] = first + role * roles.stride;
  return column;
}

size_t Groups::levelBetween(uint32_t role, uint32_t other) const {
  if (rank) {
    const std::vector<int64_t> column = columnOf(*rank);
    return cost::levelBetween(cluster, devices[column[role]],
                              devices[column[other]]);
  }
  return cost::levelBetween(cluster, roles, role, other, devices);
}

static auto orderOf(const cost::Placement &each) {
  return std::tuple(each.level, each.nodes, -each.ranksPerNode);
}

std::vector<cost::Placement> Groups::placementsOfAxes() const {
  std::vector<cost::Placement> worst(names.size());
  std::vector<bool> isKnown(names.size());
  for (size_t group = 0; group < placements.size(); ++group) {
    const size_t axes = numbers[group];
    if (!isKnown[axes] || orderOf(placements[group]) > orderOf(worst[axes]))
      worst[axes] = placements[group];
    isKnown[axes] = true;
  }
  if (pipelineAxis.empty())
    return worst;
  for (uint32_t role = 1; role < roles.size; ++role)
    worst[pipeline].level =
        std::max(worst[pipeline].level, levelBetween(role - 1, role));
  return worst;
}

std::vector<RankKind> Groups::rankKinds() const {
  std::vector<cost::GroupsOnDevices> groups;
  for (const std::vector<cost::GroupDimension> &each : dimensions)
    groups.emplace_back(cluster, each, devices);
  std::vector<RankKind> kinds;
  std::map<std::vector<size_t>, size_t> known;
  for (int64_t at = 0; at < static_cast<int64_t>(devices.size()); ++at) {
    const std::vector<int64_t> column = columnOf(at);
    if (column.front() != at)
      continue;
    std::vector<size_t> where;
    for (size_t role = 0; role < column.size(); ++role) {
      for (const cost::GroupsOnDevices &each : groups)
        where.push_back(each.numberAt(column[role]));
      for (size_t other = 0; other < role; ++other)
        where.push_back(cost::levelBetween(cluster, devices[column[role]],
                                           devices[column[other]]));
    }
    const auto [kind, isNew] =
        known.try_emplace(std::move(where), kinds.size());
    if (isNew)
      kinds.push_back({at, 0});
    ++kinds[kind->second].ranks;
  }
  return kinds;
}
