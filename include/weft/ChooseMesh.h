//===- ChooseMesh.h - Share a model without annotations ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What shard-compile --auto does: compiles a model without a mesh in all the
// ways of Search/MeshChoices.h, without machine code, and takes the one whose
// step is predicted to be the shortest.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_CHOOSEMESH_H
#define WEFT_CHOOSEMESH_H

#include "weft/Compile.h"
#include "weft/Search/MeshChoices.h"

namespace weft {

/// A way to share a model, and what a step takes of a rank.
struct SharedPlan {
  MeshChoice choice;
  double seconds = 0;
  int64_t bytes = 0;
  /// It fits with recomputation only.
  bool recomputes = false;
};

struct ChosenMesh {
  std::string cluster;
  int64_t devices = 0, memoryLimit = 0;
  /// The fastest first.
  std::vector<SharedPlan> plans;
  /// Why others are none, and of how many choices that is said.
  std::vector<std::pair<std::string, int64_t>> rejected;

  /// As a table.
  std::string print() const;
};

/// Writes the best way to share the model among so many devices into the
/// module, and what it takes besides into `options`: the pipeline, and the
/// memory limit if the model has to be recomputed. Fails with a diagnostic: of
/// models with a mesh or without a batch, of devices that the cluster does not
/// have, and with the least number of devices where nothing fits.
mlir::FailureOr<ChosenMesh>
chooseMesh(mlir::ModuleOp module, CompileOptions &options, int64_t devices);

} // namespace weft

#endif // WEFT_CHOOSEMESH_H
