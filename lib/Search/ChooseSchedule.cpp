//===- ChooseSchedule.cpp - The fastest schedule of stages ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Search/ChooseSchedule.h"

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

/// The states of micro-batches that a function mentions, by name.
static std::map<std::string, Ring> findRings(func::FuncOp segment) {
  std::map<std::string, Ring> rings;
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
  std::map<int64_t, std::map<std::string, Ring>> kept, ofRole;
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
    // What the forward pass leaves or takes is there until the way back.
    if (action == "F")
      kept[stage] = findRings(segment);
    ofRole[is.getRole()].merge(findRings(segment));
  }
  for (const auto &[stage, rings] : kept) {
    double &activation = measured.costs.stages[stage].activation;
    activation = 0;
    for (const auto &[name, ring] : rings)
      activation += ring.bytesOfSlot;
  }
  for (const auto &[role, rings] : ofRole) {
    int64_t other = arenas[role];
    for (const auto &[name, ring] : rings)
      other -= ring.slots * ring.bytesOfSlot;
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
  OwningOpRef<ModuleOp> cut = runOnCopy(
      graph, [&](PassManager &pm) { buildGraphPipeline(pm, options); });
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

FailureOr<std::string> chooseSchedule(ModuleOp graph,
                                      const PipelineOptions &options,
                                      int64_t memoryLimit) {
  PipelineOptions trial = options;
  auto work = countWork(graph, trial);
  if (failed(work))
    return failure();
  auto [stages, microbatches] = *work;
  FailureOr<int64_t> ranks = countRanks(graph, options.stages.axis);
  if (failed(ranks))
    return failure();
  trial.stages.table = makeTrialTable(*ranks, stages, microbatches);
  OwningOpRef<ModuleOp> schedule = runOnCopy(graph, [&](PassManager &pm) {
    buildPipeline(pm, trial, Form::Schedule);
  });
  if (!schedule)
    return failure();
  FailureOr<TransferTimes> transfers = TransferTimes::load(graph, options);
  if (failed(transfers))
    return failure();
  MeasuredStages measured = measureStages(*schedule, transfers->costs());
  timeline::AutoRequest request;
  request.size = {int32_t(*ranks), int32_t(microbatches),
                  int32_t(stages / *ranks)};
  request.costs = measured.costs;
  request.costs.transfer = transfers->seconds(measured.transferBytes);
  if (memoryLimit)
    request.memoryLimit = double(memoryLimit - measured.otherBytes);
  timeline::AutoSchedule found = findFastest(request);
  if (found.leastMemory)
    return graph.emitError()
           << "no schedule fits the memory limit of " << exactBytes(memoryLimit)
           << " per rank; one micro-batch at a time needs "
           << exactBytes(measured.otherBytes + int64_t(*found.leastMemory));
  if (!found.error.empty())
    return graph.emitError() << found.error;
  return printCsv(found.table);
}

} // namespace weft
