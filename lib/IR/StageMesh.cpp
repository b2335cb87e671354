//===- StageMesh.cpp - The devices of one pipeline stage ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/StageMesh.h"

#include "weft/IR/MeshDevices.h"
#include "weft/IR/StagePipeline.h"

using namespace mlir;
using namespace weft;

sharding::Mesh weft::meshOfStage(MeshOp mesh) {
  const sharding::Mesh whole = mesh.getMesh().toMesh();
  std::vector<sharding::MeshAxis> axes(whole.axes());
  if (auto pipeline = getPipeline(mesh->getParentOfType<ModuleOp>()))
    for (sharding::MeshAxis &axis : axes)
      if (axis.name == pipeline->axis)
        axis.size = 1;
  sharding::Mesh stage(std::move(axes));
  stage.place(whole, devicesOf(mesh));
  return stage;
}
