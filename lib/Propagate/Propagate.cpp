//===- Propagate.cpp - Complete the shardings of a program ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Propagate/Passes.h"

#include "ProgramGraph.h"
#include "weft/IR/WeftDialect.h"

namespace weft {
#define GEN_PASS_DEF_PROPAGATE
#include "weft/Propagate/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// The mesh of the module; one of a single device if there is none.
static MeshOp findOrAddMesh(ModuleOp module) {
  if (MeshOp mesh = findMesh(module))
    return mesh;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return MeshOp::create(builder, module.getLoc(), "mesh",
                        MeshAttr::get(module.getContext(), sharding::Mesh()));
}

namespace {
struct Propagate : weft::impl::PropagateBase<Propagate> {
  using PropagateBase::PropagateBase;

  void runOnOperation() override {
    propagation::ProgramGraph program(getOperation(),
                                      findOrAddMesh(getOperation()));
    if (failed(program.read()))
      return signalPassFailure();
    propagation::PropagationStatistics statistics = propagation::propagate(
        program.mesh, program.graph, {strategy, conservative, allowUneven});
    numVisits += statistics.visits;
    numUpdates += statistics.updates;
    if (explain)
      program.explain();
    if (provenance)
      program.keepProvenance();
    program.write();
  }
};
} // namespace
