//===- ChooseStages.cpp - Where a model is cut into stages ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Search/ChooseStages.h"

#include "RegionCosts.h"
#include "Trial.h"

#include "weft/IR/Microbatches.h"
#include "weft/IR/Origin.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"
#include "weft/Schedule/ProgramStates.h"
#include "weft/Schedule/StepCost.h"
#include "weft/Timeline/Extent.h"
#include "weft/Timeline/Schedules.h"
#include "weft/Timeline/StageCut.h"

using namespace mlir;

namespace weft {

/// How long the regions of a schedule take, for one micro-batch.
static void addTimes(ModuleOp schedule, const cost::CostModel &model,
                     std::vector<timeline::RegionCosts> &regions) {
  for (func::FuncOp entry : findEntries(schedule))
    entry.walk([&](Operation *op) {
      OriginAttr origin = getOrigin(op);
      ArrayRef<int64_t> mine = regionsOf(origin);
      if (mine.empty() || isa<RepeatOp>(op))
        return;
      size_t region =
          isBackward(origin) ? *llvm::max_element(mine) : mine.front();
      timeline::StageCosts &costs = regions[region].costs;
      double &time = !isBackward(origin)          ? costs.forward
                     : gradientOf(origin).empty() ? costs.inputGradient
                                                  : costs.weightGradient;
      time += estimateSeconds(op, model);
    });
}

static int64_t countMicrobatches(ModuleOp graph, const StageOptions &options) {
  if (options.microbatches)
    return options.microbatches;
  for (auto entry : graph.getOps<func::FuncOp>())
    if (entry.isPublic() && !entry.isExternal())
      if (Microbatches loops(entry.front()); loops.any())
        return loops.getLoops().front().getCount();
  return 1;
}

/// The schedule that stages are chosen for. What is wrong with a table of the
/// user's is reported by who executes it.
static FailureOr<timeline::Table>
scheduleFor(ModuleOp graph, const StageOptions &options, int64_t ranks) {
  if (!options.table.empty()) {
    timeline::ParsedTable parsed =
        timeline::parseCsv(options.table, "the table");
    if (parsed.errors.empty())
      return timeline::computeOnly(parsed.table);
  }
  // A search for the schedule comes later, for the stages chosen here.
  bool isPublished = timeline::findSchedule(options.schedule);
  timeline::GeneratedTable generated = timeline::generate(
      isPublished          ? options.schedule
      : options.chunks > 1 ? "looped-bfs"
                           : "1f1b",
      {int32_t(ranks), int32_t(countMicrobatches(graph, options)),
       int32_t(options.chunks)});
  if (!generated.error.empty())
    return graph.emitError() << generated.error;
  return std::move(generated.table);
}

FailureOr<std::vector<int64_t>> chooseStages(ModuleOp graph,
                                             const PipelineOptions &options) {
  FailureOr<int64_t> ranks = countRanks(graph, options.stages.axis);
  if (failed(ranks))
    return failure();
  FailureOr<TransferTimes> transfers = TransferTimes::load(graph, options);
  if (failed(transfers))
    return failure();
  PipelineOptions whole = options;
  whole.stages = StageOptions();
  whole.stages.areAutomatic = true;
  whole.stages.microbatches = options.stages.microbatches;
  whole.markRegions = true;
  OwningOpRef<ModuleOp> schedule = runOnCopy(graph, [&](PassManager &pm) {
    buildPipeline(pm, whole, Form::Schedule);
  });
  if (!schedule)
    return failure();
  auto chains = measureChains(*schedule);
  if (failed(chains))
    return failure();
  if (chains->size() != 1)
    return graph.emitError()
           << "stages are placed in one function that weft.value_and_grad "
              "differentiates, or in one loop over micro-batches, but the "
              "program has "
           << chains->size()
           << "; say how many micro-batches the pipeline has, or put stage "
              "boundaries in the model instead";
  std::vector<timeline::RegionCosts> regions(chains->front().size());
  for (auto [region, measured] : llvm::zip_equal(regions, chains->front())) {
    region.costs = {
        0, 0, 0, {}, double(measured.inputBytes + measured.valueBytes)};
    if (&region != &regions.front())
      (&region)[-1].transfer = transfers->seconds(measured.inputBytes);
  }
  addTimes(*schedule, transfers->costs(), regions);

  FailureOr<timeline::Table> table = scheduleFor(graph, options.stages, *ranks);
  if (failed(table))
    return failure();
  std::vector<int32_t> cuts = timeline::cutIntoStages(regions, *table);
  if (cuts.empty())
    return graph.emitError()
           << "the model can be cut into " << regions.size()
           << " parts, where one value leads from what is before to what is "
              "behind, but the pipeline has more stages";
  return std::vector<int64_t>(cuts.begin(), cuts.end());
}

} // namespace weft
