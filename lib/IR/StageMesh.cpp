//===- StageMesh.cpp - The devices of one pipeline stage ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/StageMesh.h"

#include "weft/IR/MeshDevices.h"
#include "weft/IR/StagePipeline.h"

#include <algorithm>

using namespace mlir;
using namespace weft;

/// The device of each position where axes lie in the order of the cluster;
/// empty if that is the order of positions.
static std::vector<int64_t> devicesInOrder(const sharding::Mesh &mesh,
                                           const cost::Cluster &cluster) {
  std::vector<cost::MeshAxis> axes;
  for (const sharding::MeshAxis &axis : mesh.axes())
    axes.push_back({axis.name, axis.size});
  std::vector<int64_t> devices(mesh.numDevices());
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const int64_t stride =
        groupOf(cluster, axes, {axes[axis].name}).front().stride;
    const sharding::AxisRef full = mesh.fullAxis(static_cast<int32_t>(axis));
    for (size_t at = 0; at < devices.size(); ++at)
      devices[at] += stride * mesh.coordinate(static_cast<int64_t>(at), full);
  }
  if (std::ranges::is_sorted(devices))
    devices.clear();
  return devices;
}

sharding::Mesh weft::meshOfStage(MeshOp mesh, const cost::Cluster &cluster) {
  const sharding::Mesh whole = mesh.getMesh().toMesh();
  std::vector<sharding::MeshAxis> axes(whole.axes());
  if (auto pipeline = getPipeline(mesh->getParentOfType<ModuleOp>()))
    for (sharding::MeshAxis &axis : axes)
      if (axis.name == pipeline->axis)
        axis.size = 1;
  sharding::Mesh stage(std::move(axes));
  const cost::DeviceList listed = devicesOf(mesh);
  if (listed.empty() && !cluster.axisOrder.empty())
    stage.place(whole, devicesInOrder(whole, cluster));
  else
    stage.place(whole, listed);
  return stage;
}
