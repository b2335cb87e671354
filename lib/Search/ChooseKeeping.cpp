//===- ChooseKeeping.cpp - Gather again or keep ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Search/ChooseKeeping.h"

#include "Trial.h"

#include "weft/IR/ClusterCost.h"
#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

/// Of a pipeline, stages have gathers of their own.
static bool hasLoops(ModuleOp graph, const PipelineOptions &options) {
  if (!options.stages.axis.empty())
    return false;
  return graph.walk([](MicrobatchSliceOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

static bool gathersInLoops(ModuleOp schedule) {
  WalkResult found = schedule.walk([](StartOp start) {
    return start->getParentOfType<RepeatOp>() &&
                   start.getKind() == cost::CollectiveKind::AllGather
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return found.wasInterrupted();
}

FailureOr<PipelineOptions> weft::chooseKeeping(ModuleOp graph,
                                               const PipelineOptions &options,
                                               int64_t limit) {
  PipelineOptions again = options, keeping = options;
  again.keepGathered = false;
  keeping.keepGathered = true;
  if (!hasLoops(graph, options))
    return again;
  auto compile = [&](const PipelineOptions &each) {
    return runOnCopy(graph, [&](PassManager &pm) {
      buildPipeline(pm, each, Form::Schedule);
    });
  };
  OwningOpRef<ModuleOp> without = compile(again);
  if (!without)
    return failure();
  if (!gathersInLoops(*without))
    return again;
  OwningOpRef<ModuleOp> with = compile(keeping);
  FailureOr<cost::CostModel> model = loadCostModel(graph, clusterOf(options));
  if (!with || failed(model))
    return failure();
  const bool fits = !limit || arenaBytes(*with) <= limit;
  return fits && predictedSeconds(*with, *model) <
                     predictedSeconds(*without, *model)
             ? keeping
             : again;
}
