//===- DeviceList.h - Meshes that list their devices ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the groups of a mesh lie whose positions are on devices in any order. A
// group is given in positions of the mesh, row-major, and all groups along the
// same axes are looked at: they communicate at once, and are done with the one
// that lies worst.
//
// Example: with nodes of 8 devices, data=2 x tensor=8 on the devices [0, 2,
// ..., 14, 1, 3, ..., 15] has the groups of `data` in a node each, and those of
// `tensor` on two nodes.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_DEVICELIST_H
#define WEFT_COST_DEVICELIST_H

#include "weft/Cost/Placement.h"

#include <span>

namespace weft::cost {

/// The device of each position of a mesh; empty where the mesh lists none, and
/// positions lie as the cluster says.
using DeviceList = std::span<const int64_t>;

/// The group of the axes `group` of a mesh: in positions, where devices are
/// listed, otherwise in devices.
std::vector<GroupDimension> groupOf(const Cluster &cluster,
                                    const std::vector<MeshAxis> &mesh,
                                    const std::vector<std::string> &group,
                                    DeviceList devices);

Placement placeGroup(const Cluster &cluster,
                     std::vector<GroupDimension> dimensions,
                     DeviceList devices);

/// The worst level between positions with the coordinates `one` and `other`
/// along an axis, and else the same ones.
size_t levelBetween(const Cluster &cluster, const GroupDimension &axis,
                    int64_t one, int64_t other, DeviceList devices);

/// The smallest size of aligned blocks of consecutive devices that each hold
/// all of a group; of a list that is not empty.
int64_t spanOf(const std::vector<GroupDimension> &dimensions,
               DeviceList devices);

} // namespace weft::cost

#endif // WEFT_COST_DEVICELIST_H
