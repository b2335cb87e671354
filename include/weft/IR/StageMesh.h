//===- StageMesh.h - The devices of one pipeline stage ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_STAGEMESH_H
#define WEFT_IR_STAGEMESH_H

#include "weft/Cost/Cluster.h"
#include "weft/IR/WeftOps.h"

namespace weft {

/// The mesh of a module as one stage sees it: of one device along the axis of
/// stages, as those beside it compute other things, and have no copies of what
/// is not split over that axis. It lies where the mesh does on the cluster.
sharding::Mesh meshOfStage(MeshOp mesh, const cost::Cluster &cluster);

} // namespace weft

#endif // WEFT_IR_STAGEMESH_H
