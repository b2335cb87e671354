//===- ChooseStages.cpp - Where a model is cut into stages ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Search/ChooseStages.h"

#include "RegionCosts.h"
#include "Trial.h"

#include "weft/IR/MeshDevices.h"
#include "weft/IR/Microbatches.h"
#include "weft/IR/Origin.h"
#include "weft/IR/StageParameters.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"
#include "weft/Schedule/ProgramStates.h"
#include "weft/Schedule/StepCost.h"
#include "weft/Timeline/Counted.h"
#include "weft/Timeline/Extent.h"
#include "weft/Timeline/Schedules.h"
#include "weft/Timeline/StageCut.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace weft {

/// How long the regions of a schedule take, for one micro-batch: of what is
/// done once a step, as gathers of parameters and updates, its part.
static void addTimes(ModuleOp schedule, const cost::CostModel &model,
                     int64_t microbatches,
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
      time += estimateSeconds(op, model) /
              (op->getParentOfType<RepeatOp>() ? 1 : double(microbatches));
    });
}

static int64_t countMicrobatches(func::FuncOp entry) {
  Microbatches loops(entry.front());
  return loops.any() ? loops.getLoops().front().getCount() : 1;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

namespace {

/// A model that is cut wherever it can be: each region is a stage.
struct Parts {
  OwningOpRef<ModuleOp> graph;
  func::FuncOp entry;
  /// By region.
  llvm::SmallBitVector withParameter;
};

} // namespace

static FailureOr<Parts> cutEverywhere(ModuleOp graph, PipelineOptions options,
                                      int64_t regions) {
  options.markRegions = false;
  options.stages.areAutomatic = regions > 1;
  for (int64_t region = 1; region < regions; ++region)
    options.stages.regions.push_back(region);
  Parts parts;
  parts.graph = runOnCopy(
      graph, [&](PassManager &pm) { buildGraphPipeline(pm, options); });
  if (!parts.graph)
    return failure();
  parts.entry = findCutEntry(*parts.graph);
  // Without a loop over micro-batches there are no stages, as is reported when
  // they are assigned.
  auto stages = (*parts.graph)->getAttrOfType<IntegerAttr>(kStagesAttrName);
  parts.withParameter = stages && stages.getInt() == regions
                            ? findStagesWithParameter(parts.entry, regions)
                            : llvm::SmallBitVector(regions, true);
  return std::move(parts);
}

/// The first op of a part that takes a value of one before.
static Operation *findBegin(func::FuncOp entry, int64_t part) {
  for (Operation &op : entry.front())
    if (stageOf(getOrigin(&op)) == part &&
        llvm::any_of(op.getOperands(), [&](Value operand) {
          int64_t from = stageOf(getValueOrigin(operand));
          return from >= 0 && from < part;
        }))
      return &op;
  return nullptr;
}

static LogicalResult reportTooFew(const Parts &parts, const std::string &axis,
                                  int64_t ranks, int64_t stages) {
  func::FuncOp entry = parts.entry;
  int64_t count = parts.withParameter.size(),
          most = parts.withParameter.count();
  auto error = emitError(entry.getLoc()) << "@" << entry.getSymName();
  if (count == 1)
    error << " cannot be cut: nowhere between two matmuls does a single value "
             "lead from what is before to what is behind";
  else
    error << " can be cut into " << count
          << " parts, where a single value leads from one to the next";
  if (most < count)
    error << ", of which " << most
          << (most == 1 ? " uses a parameter" : " use a parameter")
          << ", as each stage must";
  error << "; the pipeline has " << timeline::counted(stages, "stage") << " on "
        << timeline::counted(ranks, "rank") << " along \"" << axis
        << "\"; use fewer ranks or chunks, for at most "
        << timeline::counted(most, "stage")
        << ", or put weft.stage_boundary in the model";
  for (int64_t part = 1; part < count; ++part)
    if (Operation *begin = findBegin(entry, part))
      error.attachNote(begin->getLoc()) << "a part can begin here";
  return error;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// The schedule that stages are chosen for. What is wrong with a table of the
/// user's is reported by who executes it.
static FailureOr<timeline::Table>
scheduleFor(func::FuncOp entry, const StageOptions &options, int64_t ranks) {
  if (!options.table.empty()) {
    timeline::ParsedTable parsed =
        timeline::parseCsv(options.table, "the table");
    if (parsed.errors.empty())
      return timeline::computeOnly(parsed.table);
  }
  // A search for the schedule comes later, for the stages chosen here.
  bool isPublished = timeline::findSchedule(options.schedule);
  timeline::GeneratedTable generated =
      timeline::generate(isPublished          ? options.schedule
                         : options.chunks > 1 ? "looped-bfs"
                                              : "1f1b",
                         {int32_t(ranks), int32_t(countMicrobatches(entry)),
                          int32_t(options.chunks)});
  if (!generated.error.empty())
    return emitError(entry.getLoc()) << generated.error;
  return std::move(generated.table);
}

/// The graph on the devices of one stage: those beside it compute other stages,
/// and without a pipeline they would share its work. Null where that would
/// change the place of other axes on the cluster, or what a part of the axis
/// splits, which is an error that is reported later.
static OwningOpRef<ModuleOp> onOneStage(ModuleOp graph, StringRef axis,
                                        const cost::Cluster &cluster) {
  OwningOpRef<ModuleOp> stage = graph.clone();
  MeshOp mesh = findMesh(*stage);
  if (!mesh || mesh->hasAttr(kDevicesAttrName) || !cluster.axisOrder.empty())
    return {};
  SmallVector<MeshAxisAttr> axes(mesh.getMesh().getAxes());
  auto isLarge = [](MeshAxisAttr each) { return each.getSize() != 1; };
  auto first = llvm::find_if(axes, isLarge);
  if (first == axes.end() || first->getName() != axis)
    return {};
  *first = MeshAxisAttr::get(graph.getContext(), axis, 1);
  mesh.setMeshAttr(MeshAttr::get(graph.getContext(), axes));
  ScopedDiagnosticHandler quiet(graph.getContext(),
                                [](Diagnostic &) { return success(); });
  return succeeded(verify(*stage)) ? std::move(stage) : nullptr;
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
  // What regions take and hold is asked for, and no order.
  whole.overlapCollectives = false;
  OwningOpRef<ModuleOp> stage =
      onOneStage(graph, options.stages.axis, transfers->costs().cluster());
  OwningOpRef<ModuleOp> schedule =
      runOnCopy(stage ? *stage : graph, [&](PassManager &pm) {
        buildPipeline(pm, whole, Form::Schedule);
      });
  if (!schedule)
    return failure();
  auto chains = measureChains(*schedule);
  if (failed(chains))
    return failure();
  if (chains->size() != 1)
    return emitError(findCutEntry(graph).getLoc())
           << "stages are placed in one function that weft.value_and_grad "
              "differentiates, or in one loop over micro-batches, but the "
              "program has "
           << (chains->empty() ? "none" : std::to_string(chains->size()))
           << "; say how many micro-batches the pipeline has, or put stage "
              "boundaries in the model instead";
  auto parts = cutEverywhere(graph, whole, chains->front().size());
  if (failed(parts))
    return failure();
  std::vector<timeline::RegionCosts> regions(chains->front().size());
  for (auto [region, measured] : llvm::zip_equal(regions, chains->front())) {
    region.costs = {
        0, 0, 0, {}, double(measured.inputBytes + measured.valueBytes)};
    region.usesParameter = parts->withParameter[&region - &regions.front()];
    if (&region != &regions.front())
      (&region)[-1].transfer = transfers->seconds(measured.inputBytes);
  }
  addTimes(*schedule, transfers->costs(), countMicrobatches(parts->entry),
           regions);

  auto table = scheduleFor(parts->entry, options.stages, *ranks);
  if (failed(table))
    return failure();
  std::vector<int32_t> cuts = timeline::cutIntoStages(regions, *table);
  int64_t stages = timeline::extentOf(*table).stages;
  if (cuts.empty() && stages != 1)
    return reportTooFew(*parts, options.stages.axis, *ranks, stages);
  return std::vector<int64_t>(cuts.begin(), cuts.end());
}

} // namespace weft
