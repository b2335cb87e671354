//===- ChooseSchedule.cpp - The fastest schedule of stages ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Search/ChooseSchedule.h"

#include "RegionCosts.h"
#include "Trial.h"

#include "weft/Cost/Bytes.h"
#include "weft/IR/Microbatches.h"
#include "weft/IR/Origin.h"
#include "weft/IR/Segments.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Schedule/EntryBuffers.h"
#include "weft/Schedule/StepCost.h"
#include "weft/Timeline/AutoSchedule.h"

#include "mlir/Pass/PassManager.h"

#include <limits>
#include <set>
#include <tuple>

using namespace mlir;

namespace weft {

using timeline::ActionKind;

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

static double secondsOf(func::FuncOp segment, const cost::CostModel &model) {
  double seconds = 0;
  for (Operation &op : segment.front().without_terminator())
    seconds += estimateSeconds(&op, model);
  return seconds;
}

namespace {

/// A state of micro-batches.
struct Ring {
  int64_t bytesOfSlot = 0, slots = 0;
};

} // namespace

/// By name.
using Rings = std::map<std::string, Ring>;

/// The states of micro-batches that a function mentions.
static Rings findRings(func::FuncOp segment) {
  Rings rings;
  auto add = [&](std::string name, Type type, DictionaryAttr attrs) {
    if (attrs && attrs.get(WeftDialect::kSlotsAttrName) &&
        !attrs.get(kCountsAttrName))
      rings[name] = {byteSize(cast<RankedTensorType>(type)), slotsOf(attrs)};
  };
  for (unsigned i = 0; i < segment.getNumArguments(); ++i)
    add(getArgumentName(segment, i), segment.getArgumentTypes()[i],
        segment.getArgAttrDict(i));
  for (unsigned i = 0; i < segment.getNumResults(); ++i)
    add(getResultName(segment, i), segment.getResultTypes()[i],
        segment.getResultAttrDict(i));
  return rings;
}

MeasuredStages measureStages(ModuleOp schedule, const cost::CostModel &model) {
  func::FuncOp entry = findTimelines(schedule).front();
  TimelineAttr timeline = getTimeline(entry);
  MeasuredStages measured;
  measured.ranks = timeline.getRows().size();
  measured.microbatches = timeline.getMicrobatches();
  std::map<int64_t, Rings> kept, taken, ofRole;
  std::map<int64_t, int64_t> arenas;
  for (func::FuncOp segment : findEntries(schedule)) {
    SegmentAttr is = getSegment(segment);
    if (!is)
      continue;
    StringRef action = is.getAction().getValue();
    int64_t stage = 0;
    action.consumeInteger(10, stage);
    std::vector<timeline::StageCosts> &stages = measured.costs.stages;
    stages.resize(std::max<size_t>(stages.size(), stage + 1));
    if (action == "F")
      stages[stage].forward = secondsOf(segment, model);
    else if (action == "I")
      stages[stage].inputGradient = secondsOf(segment, model);
    else if (action == "W")
      stages[stage].weightGradient = secondsOf(segment, model);
    arenas[is.getRole()] = std::max(
        arenas[is.getRole()],
        segment->getAttrOfType<IntegerAttr>(arenaBytesAttrName).getInt());
    // What the forward pass leaves or takes is there until the way back, what
    // the weight gradient takes besides from the input gradient on.
    if (action == "F")
      kept[stage] = findRings(segment);
    else if (action == "W")
      taken[stage] = findRings(segment);
    ofRole[is.getRole()].merge(findRings(segment));
  }
  std::set<std::string> counted;
  for (const auto &[stage, rings] : kept) {
    timeline::StageCosts &costs = measured.costs.stages[stage];
    costs.activation = 0;
    for (const auto &[name, ring] : rings) {
      costs.activation += ring.bytesOfSlot;
      counted.insert(name);
    }
    for (const auto &[name, ring] : taken[stage])
      if (!rings.contains(name)) {
        costs.betweenGradients += ring.bytesOfSlot;
        counted.insert(name);
      }
  }
  for (const auto &[role, rings] : ofRole) {
    int64_t other = arenas[role];
    for (const auto &[name, ring] : rings) {
      // Of what else there is for a micro-batch, one is used and one arrives.
      const int64_t slots = counted.contains(name) ? 0 : 2;
      other -= (ring.slots - std::min(ring.slots, slots)) * ring.bytesOfSlot;
    }
    measured.otherBytes = std::max(measured.otherBytes, other);
  }
  int64_t largest = 0;
  for (auto message : timeline.getMessages().getAsRange<MessageAttr>()) {
    if (message.getKind() != "F" && message.getKind() != "B")
      continue;
    int64_t bytes = 0;
    for (auto name : message.getValues().getAsRange<StringAttr>())
      bytes += kept[message.getSource()][name.getValue().str()].bytesOfSlot;
    largest = std::max(largest, bytes);
  }
  measured.transferBytes = largest;
  return measured;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// All forward passes, then all backward passes in halves: what runs whatever
/// the numbers of ranks, stages and micro-batches are.
static std::string makeTrialTable(int64_t ranks, int64_t stages,
                                  int64_t microbatches) {
  timeline::Table table;
  table.rows.resize(ranks);
  auto add = [&](int64_t stage, ActionKind kind, int64_t microbatch) {
    table.rows[stage % ranks].push_back(
        {int32_t(stage), kind, int32_t(microbatch)});
  };
  for (int64_t stage = 0; stage < stages; ++stage)
    for (int64_t i = 0; i < microbatches; ++i)
      add(stage, ActionKind::Forward, i);
  for (int64_t stage = stages; stage-- > 0;)
    for (int64_t i = 0; i < microbatches; ++i) {
      add(stage, ActionKind::InputGradient, i);
      add(stage, ActionKind::WeightGradient, i);
    }
  return printCsv(table);
}

/// How many stages and micro-batches there are, from the graph alone.
static FailureOr<std::pair<int64_t, int64_t>>
countWork(ModuleOp graph, const PipelineOptions &options) {
  PipelineOptions published = options;
  published.stages.schedule = "1f1b"; // any: the table is not known yet
  OwningOpRef<ModuleOp> cut = runOnCopy(
      graph, [&](PassManager &pm) { buildGraphPipeline(pm, published); });
  if (!cut)
    return failure();
  for (auto entry : cut->getOps<func::FuncOp>())
    if (entry.isPublic() && !entry.isExternal())
      if (Microbatches loops(entry.front()); loops.any())
        return std::pair(
            (*cut)->getAttrOfType<IntegerAttr>(kStagesAttrName).getInt(),
            loops.getLoops().front().getCount());
  return failure();
}

namespace {

/// Compares the fastest tables for what may be recomputed.
class ScheduleSearch {
public:
  ScheduleSearch(ModuleOp graph, const PipelineOptions &options,
                 int64_t memoryLimit, TransferTimes transfers)
      : graph(graph), trial(options), memoryLimit(memoryLimit),
        transfers(std::move(transfers)) {}

  FailureOr<std::string> run();

private:
  using Chains = std::vector<std::vector<ChainRegion>>;

  FailureOr<Chains> rate(std::vector<std::string> recomputed);

  ModuleOp graph;
  PipelineOptions trial;
  const int64_t memoryLimit;
  TransferTimes transfers;
  int64_t stages = 0, microbatches = 0, ranks = 0;
  std::vector<timeline::StageCosts> withoutRecomputation;
  timeline::Table best;
  double seconds = std::numeric_limits<double>::infinity();
  /// What a step needs where no table fits.
  int64_t leastBytes = std::numeric_limits<int64_t>::max();
};

} // namespace

/// Finds the fastest table if these ranges of regions are recomputed. Returns
/// the regions there are to choose from, if there is a limit.
FailureOr<ScheduleSearch::Chains>
ScheduleSearch::rate(std::vector<std::string> recomputed) {
  trial.recomputed = std::move(recomputed);
  OwningOpRef<ModuleOp> schedule = runOnCopy(graph, [&](PassManager &pm) {
    buildPipeline(pm, trial, Form::Schedule);
  });
  if (!schedule)
    return failure();
  MeasuredStages measured = measureStages(*schedule, transfers.costs());
  timeline::AutoRequest request;
  request.size = {int32_t(ranks), int32_t(microbatches),
                  int32_t(stages / ranks)};
  request.costs = measured.costs;
  if (withoutRecomputation.empty())
    withoutRecomputation = measured.costs.stages;
  for (auto [stage, without] :
       llvm::zip_equal(request.costs.stages, withoutRecomputation))
    stage.recomputed =
        std::max(0., stage.betweenGradients - without.betweenGradients);
  request.costs.transfer = transfers.seconds(measured.transferBytes);
  if (memoryLimit)
    request.memoryLimit = double(memoryLimit - measured.otherBytes);
  timeline::AutoSchedule found = findFastest(request);
  if (found.leastMemory) {
    leastBytes =
        std::min(leastBytes, measured.otherBytes + int64_t(*found.leastMemory));
  } else if (!found.error.empty()) {
    return emitError(findCutEntry(graph).getLoc()) << found.error;
  } else if (double makespan = timeTable(found.table, request.costs)->makespan;
             makespan < seconds) {
    seconds = makespan;
    best = std::move(found.table);
  }
  return memoryLimit ? measureChains(*schedule) : Chains();
}

FailureOr<std::string> ScheduleSearch::run() {
  auto work = countWork(graph, trial);
  FailureOr<int64_t> found = countRanks(graph, trial.stages.axis);
  if (failed(work) || failed(found))
    return failure();
  std::tie(stages, microbatches) = *work;
  ranks = *found;
  trial.stages.table = makeTrialTable(ranks, stages, microbatches);
  trial.markRegions = memoryLimit != 0;
  FailureOr<Chains> chains = rate({});
  if (failed(chains))
    return failure();
  // What memory a table saves may cost more time than recomputation does.
  std::vector<std::string> cheap, every;
  for (const std::vector<ChainRegion> &chain : *chains)
    for (const ChainRegion &region : chain) {
      size_t number = every.size();
      every.push_back(std::to_string(number) + ":" +
                      std::to_string(number + 1));
      cheap.push_back(every.back() + (region.dots ? ":dots" : ""));
    }
  std::vector<std::vector<std::string>> levels;
  if (cheap != every)
    levels.push_back(std::move(cheap));
  if (!every.empty())
    levels.push_back(std::move(every));
  for (std::vector<std::string> &level : levels)
    if (failed(rate(std::move(level))))
      return failure();
  if (best.rows.empty())
    return emitError(findCutEntry(graph).getLoc())
           << "no schedule fits the memory limit of " << exactBytes(memoryLimit)
           << " per rank; one micro-batch at a time needs "
           << exactBytes(leastBytes)
           << "; raise the limit, use smaller micro-batches, or put more "
              "stages on more ranks";
  return printCsv(best);
}

FailureOr<std::string> chooseSchedule(ModuleOp graph,
                                      const PipelineOptions &options,
                                      int64_t memoryLimit) {
  FailureOr<TransferTimes> transfers = TransferTimes::load(graph, options);
  if (failed(transfers))
    return failure();
  return ScheduleSearch(graph, options, memoryLimit, std::move(*transfers))
      .run();
}

} // namespace weft
