//===- DeviceList.cpp - Meshes that list their devices --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/GroupsOnDevices.h"

#include "NarrowLinks.h"

#include <algorithm>
#include <optional>
#include <tuple>

using namespace weft;
using namespace weft::cost;

std::vector<GroupDimension> cost::groupOf(const Cluster &cluster,
                                          const std::vector<MeshAxis> &mesh,
                                          const std::vector<std::string> &group,
                                          DeviceList devices) {
  if (devices.empty())
    return groupOf(cluster, mesh, group);
  Cluster rowMajor = cluster;
  rowMajor.axisOrder.clear();
  return groupOf(rowMajor, mesh, group);
}

/// The positions of a group relative to its first.
static std::vector<int64_t>
offsetsOf(const std::vector<GroupDimension> &dimensions) {
  std::vector<int64_t> offsets = {0};
  for (const GroupDimension &dimension : dimensions) {
    const size_t before = offsets.size();
    for (int64_t i = 1; i < dimension.size; ++i)
      for (size_t at = 0; at < before; ++at)
        offsets.push_back(offsets[at] + i * dimension.stride);
  }
  return offsets;
}

/// Calls `visit` with the first position and the devices of each group, which
/// are in increasing order.
template <typename Visit>
static void forEachGroup(const std::vector<GroupDimension> &dimensions,
                         DeviceList devices, Visit visit) {
  const std::vector<int64_t> offsets = offsetsOf(dimensions);
  std::vector<int64_t> group(offsets.size());
  for (size_t first = 0; first < devices.size(); ++first) {
    const bool isFirst =
        std::ranges::all_of(dimensions, [&](const GroupDimension &each) {
          return static_cast<int64_t>(first) / each.stride % each.size == 0;
        });
    if (!isFirst)
      continue;
    std::ranges::transform(offsets, group.begin(), [&](int64_t offset) {
      return devices[first + offset];
    });
    std::ranges::sort(group);
    visit(static_cast<int64_t>(first), group);
  }
}

/// A group cut into blocks of so many devices: how many it lies in, and the
/// fewest ranks that one of them has. `group` is in order.
struct Blocks {
  int64_t count = 0, fewest = 0;

  Blocks(const std::vector<int64_t> &group, int64_t devices)
      : fewest(static_cast<int64_t>(group.size())) {
    for (auto first = group.begin(); first != group.end(); ++count) {
      const auto last = std::find_if(first, group.end(), [&](int64_t device) {
        return device / devices != *first / devices;
      });
      fewest = std::min<int64_t>(fewest, last - first);
      first = last;
    }
  }
};

static Placement place(const Cluster &cluster,
                       const std::vector<int64_t> &group) {
  Placement placement;
  placement.ranks = placement.ranksPerNode = static_cast<int64_t>(group.size());
  if (!cluster.network)
    return placement;
  const Blocks nodes(group, cluster.node.devices);
  placement.ranksPerNode = nodes.fewest;
  placement.nodes = nodes.count;
  narrow(cluster, placement,
         [&](int64_t devices) { return Blocks(group, devices).fewest; });
  return placement;
}

/// From the best to the worst.
static auto rankOf(const Placement &each) {
  return std::tuple(each.level, each.nodes, each.neighbourOversubscription,
                    each.pairOversubscription, -each.ranksPerNode);
}

static bool isWorse(const Placement &a, const Placement &b) {
  return rankOf(a) > rankOf(b);
}

Placement cost::placeGroup(const Cluster &cluster,
                           std::vector<GroupDimension> dimensions,
                           DeviceList devices) {
  if (devices.empty())
    return placeGroup(cluster, std::move(dimensions));
  std::optional<Placement> worst;
  forEachGroup(dimensions, devices,
               [&](int64_t, const std::vector<int64_t> &group) {
                 const Placement placed = place(cluster, group);
                 if (!worst || isWorse(placed, *worst))
                   worst = placed;
               });
  return *worst;
}

std::vector<int64_t> cost::listDevices(const Cluster &cluster,
                                       const std::vector<MeshAxis> &mesh) {
  std::vector<int64_t> devices = {0};
  for (const MeshAxis &axis : mesh) {
    const int64_t stride = groupOf(cluster, mesh, {axis.name}).front().stride;
    std::vector<int64_t> next;
    for (int64_t device : devices)
      for (int64_t i = 0; i < axis.size; ++i)
        next.push_back(device + i * stride);
    devices = std::move(next);
  }
  return devices;
}

GroupsOnDevices::GroupsOnDevices(const Cluster &cluster,
                                 std::vector<GroupDimension> groupDimensions,
                                 DeviceList devices)
    : dimensions(std::move(groupDimensions)) {
  std::map<decltype(rankOf(Placement())), size_t> known;
  forEachGroup(dimensions, devices,
               [&](int64_t first, const std::vector<int64_t> &group) {
                 const Placement placed = place(cluster, group);
                 const auto [number, isNew] =
                     known.try_emplace(rankOf(placed), placements.size());
                 if (isNew)
                   placements.push_back(placed);
                 numbers[first] = number->second;
               });
}

int64_t GroupsOnDevices::firstOf(int64_t position) const {
  int64_t first = position;
  for (const GroupDimension &each : dimensions)
    first -= position / each.stride % each.size * each.stride;
  return first;
}

size_t GroupsOnDevices::numberAt(int64_t position) const {
  return numbers.at(firstOf(position));
}

const Placement &
GroupsOnDevices::worstOf(std::span<const int64_t> positions) const {
  const Placement *worst = nullptr;
  for (int64_t position : positions)
    if (const Placement &placed = placement(numberAt(position));
        !worst || isWorse(placed, *worst))
      worst = &placed;
  return *worst;
}

size_t cost::levelBetween(const Cluster &cluster, const GroupDimension &axis,
                          int64_t one, int64_t other, DeviceList devices) {
  if (devices.empty())
    return levelBetween(cluster, one * axis.stride, other * axis.stride);
  size_t level = 0;
  for (size_t at = 0; at < devices.size(); ++at)
    if (static_cast<int64_t>(at) / axis.stride % axis.size == one)
      level = std::max(level,
                       levelBetween(cluster, devices[at],
                                    devices[at + (other - one) * axis.stride]));
  return level;
}

int64_t cost::spanOf(const std::vector<GroupDimension> &dimensions,
                     DeviceList devices) {
  const auto count = static_cast<int64_t>(devices.size());
  // A block that holds neighbours along each dimension holds the group.
  const auto holds = [&](int64_t block) {
    for (int64_t at = 0; at < count; ++at)
      for (const GroupDimension &each : dimensions)
        if (at / each.stride % each.size != 0 &&
            devices[at] / block != devices[at - each.stride] / block)
          return false;
    return true;
  };
  int64_t block = 1;
  while (count % block != 0 || !holds(block))
    ++block;
  return block;
}
