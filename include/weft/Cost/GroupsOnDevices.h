//===- GroupsOnDevices.h - Where each group of a mesh lies ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_GROUPSONDEVICES_H
#define WEFT_COST_GROUPSONDEVICES_H

#include "weft/Cost/DeviceList.h"

#include <map>

namespace weft::cost {

/// The device of each position of a mesh that lists none.
std::vector<int64_t> listDevices(const Cluster &cluster,
                                 const std::vector<MeshAxis> &mesh);

/// The groups along the same axes of a mesh that lists its devices, each where
/// it lies: groups that lie alike have the same number.
class GroupsOnDevices {
public:
  GroupsOnDevices(const Cluster &cluster,
                  std::vector<GroupDimension> dimensions, DeviceList devices);

  /// The number of the group that has a position.
  size_t numberAt(int64_t position) const;
  const Placement &placement(size_t number) const { return placements[number]; }
  /// The worst of the groups that have these positions.
  const Placement &worstOf(std::span<const int64_t> positions) const;

private:
  int64_t firstOf(int64_t position) const;

  std::vector<GroupDimension> dimensions;
  /// By the first position of a group.
  std::map<int64_t, size_t> numbers;
  std::vector<Placement> placements;
};

} // namespace weft::cost

#endif // WEFT_COST_GROUPSONDEVICES_H
