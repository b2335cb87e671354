//===- Trial.cpp - Compile a copy to see what comes of it -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trial.h"

#include "weft/IR/ClusterCost.h"
#include "weft/IR/Microbatches.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Schedule/EntryBuffers.h"
#include "weft/Schedule/ExplainSchedule.h"
#include "weft/Schedule/ProgramStates.h"

using namespace mlir;

namespace weft {

OwningOpRef<ModuleOp> runOnCopy(ModuleOp module,
                                llvm::function_ref<void(PassManager &)> build) {
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &each) {
    return success(each.getSeverity() != DiagnosticSeverity::Error);
  });
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager pm(module.getContext());
  pm.enableVerifier(false); // as where programs are compiled
  build(pm);
  if (failed(pm.run(*copy)))
    return {};
  return copy;
}

double predictedSeconds(ModuleOp schedule, const cost::CostModel &model) {
  double seconds = 0;
  for (func::FuncOp entry : findEntries(schedule))
    seconds += predictTimes(entry.front(), model).whole;
  return seconds;
}

func::FuncOp findCutEntry(ModuleOp graph) {
  SmallVector<func::FuncOp> entries = findEntries(graph);
  auto withLoop = llvm::find_if(entries, [](func::FuncOp entry) {
    return Microbatches(entry.front()).any();
  });
  return withLoop == entries.end() ? entries.front() : *withLoop;
}

FailureOr<TransferTimes> TransferTimes::load(ModuleOp module,
                                             const PipelineOptions &options) {
  FailureOr<cost::CostModel> model = loadCostModel(module, clusterOf(options));
  if (failed(model))
    return failure();
  MeshOp meshOp = findMesh(module);
  if (!meshOp)
    return TransferTimes(std::move(*model), 0);
  sharding::Mesh mesh = meshOp.getMesh().toMesh();
  sharding::AxisList axes;
  if (std::optional<int32_t> axis = mesh.find(options.stages.axis))
    axes.push_back(mesh.fullAxis(*axis));
  cost::Placement group = placeGroups(*model, meshOp, axes);
  return TransferTimes(std::move(*model), group.level);
}

FailureOr<int64_t> countRanks(ModuleOp module, StringRef axis) {
  if (MeshOp mesh = findMesh(module))
    for (MeshAxisAttr each : mesh.getMesh().getAxes())
      if (each.getName() == axis)
        return each.getSize();
  return module.emitError() << "the pipeline is along \"" << axis
                            << "\", which is no axis of a mesh of the module";
}

} // namespace weft

int64_t weft::arenaBytes(ModuleOp schedule) {
  int64_t bytes = 0;
  for (func::FuncOp entry : findEntries(schedule))
    bytes = std::max(
        bytes, entry->getAttrOfType<IntegerAttr>(arenaBytesAttrName).getInt());
  return bytes;
}
