//===- FormTimelines.cpp - Segments of stages, and when they run ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CutSegments.h"
#include "LoopCaptures.h"
#include "TimelineRows.h"

#include "weft/IR/ClusterCost.h"
#include "weft/IR/Origin.h"
#include "weft/IR/Segments.h"
#include "weft/IR/StageParameters.h"
#include "weft/IR/StagePipeline.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Pipelining/Passes.h"
#include "weft/Timeline/Counted.h"

namespace weft {
#define GEN_PASS_DEF_FORMTIMELINES
#include "weft/Pipelining/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// Gives the states of a function their slots.
static void setSlots(func::FuncOp function, const StateSlots &slots) {
  Builder b(function.getContext());
  auto slotsOf = [&](std::string name) -> IntegerAttr {
    auto found = slots.find({roleOf(function), name});
    return found == slots.end() ? IntegerAttr()
                                : b.getI64IntegerAttr(found->second);
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (IntegerAttr count = slotsOf(getArgumentName(function, i)))
      function.setArgAttr(i, WeftDialect::kSlotsAttrName, count);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (IntegerAttr count = slotsOf(getResultName(function, i)))
      function.setResultAttr(i, b.getStringAttr(WeftDialect::kSlotsAttrName),
                             count);
}

static bool hasLoop(func::FuncOp entry) {
  return Microbatches(entry.front()).any();
}

namespace {

struct FormTimelines : weft::impl::FormTimelinesBase<FormTimelines> {
  using FormTimelinesBase::FormTimelinesBase;

  void runOnInput() override {
    std::optional<StagePipeline> pipeline = getPipeline(getOperation());
    auto stages = getOperation()->getAttrOfType<IntegerAttr>(kStagesAttrName);
    if (!pipeline || !stages)
      return;
    carryCaptures(getOperation());
    SmallVector<func::FuncOp> entries(getOperation().getOps<func::FuncOp>());
    bool legal = true;
    for (func::FuncOp entry : entries) {
      for (unsigned i = 0; i < entry.getNumArguments(); ++i)
        names.insert(weft::getArgumentName(entry, i));
      for (unsigned i = 0; i < entry.getNumResults(); ++i)
        names.insert(weft::getResultName(entry, i));
    }
    llvm::erase_if(entries, [](func::FuncOp entry) {
      return !entry.isPublic() || entry.isExternal();
    });
    // Those without a loop have the states where the others put them.
    llvm::stable_sort(entries, [](func::FuncOp a, func::FuncOp b) {
      return hasLoop(a) && !hasLoop(b);
    });
    for (func::FuncOp entry : entries)
      legal &= succeeded(form(entry, *pipeline, stages.getInt()));
    if (!legal)
      return signalPassFailure();
    captureInvariants(getOperation());
    getOperation()->removeAttr(kStagesAttrName);
    getOperation()->removeAttr(kPipelineAttrName);
  }

private:
  FailureOr<ResultCopies> copyUpdates(func::FuncOp entry,
                                      const PipelineSchedule &schedule,
                                      const StagePipeline &pipeline);
  FailureOr<PipelineSchedule> findSchedule(func::FuncOp entry,
                                           const StagePipeline &pipeline,
                                           int64_t stages);
  LogicalResult form(func::FuncOp entry, const StagePipeline &pipeline,
                     int64_t stages);

  /// Of all states: those of two entries may differ in type.
  llvm::StringSet<> names;
  StateHolders holders;
  /// Of the stages of all entries.
  timeline::Placement placement;
};

} // namespace

/// The schedule of an entry without a loop: all that it computes is done once,
/// behind passes that do nothing.
static PipelineSchedule scheduleWithoutLoop(timeline::Placement placement) {
  PipelineSchedule schedule;
  const auto stages = int32_t(placement.size());
  schedule.isMerged.assign(stages, true);
  schedule.table.rows.resize(
      placement.empty() ? 0 : *llvm::max_element(placement) + 1);
  for (int32_t stage = 0; stage < stages; ++stage)
    schedule.table.rows[placement[stage]].push_back(
        {stage, timeline::ActionKind::Forward, 0});
  for (int32_t stage = stages; stage-- > 0;)
    schedule.table.rows[placement[stage]].push_back(
        {stage, timeline::ActionKind::Backward, 0});
  schedule.placement = std::move(placement);
  return schedule;
}

FailureOr<PipelineSchedule>
FormTimelines::findSchedule(func::FuncOp entry, const StagePipeline &pipeline,
                            int64_t stages) {
  Microbatches loops(entry.front());
  if (!loops.any() && !placement.empty())
    return scheduleWithoutLoop(placement);
  if (!loops.any())
    return entry.emitError()
           << "@" << entry.getSymName()
           << " has no loop over micro-batches, nor has any other entry";
  MicrobatchesAttr loop = loops.getLoops()[0];
  if (microbatches && microbatches != loop.getCount())
    return entry.emitError()
           << "the pipeline is to have "
           << timeline::counted(microbatches.getValue(), "micro-batch",
                                "micro-batches")
           << ", but the loop of @" << entry.getSymName() << " is over "
           << loop.getCount() << "; split the batch of the model into as many";
  FailureOr<PipelineSchedule> found =
      findPipelineSchedule(entry, {pipeline, stages, loop.getCount()});
  if (succeeded(found))
    placement = found->placement;
  return found;
}

/// Only of training: what other entries change is where that has it.
FailureOr<ResultCopies>
FormTimelines::copyUpdates(func::FuncOp entry, const PipelineSchedule &schedule,
                           const StagePipeline &pipeline) {
  if (!pipeline.ownCopies || !hasLoop(entry))
    return ResultCopies();
  FailureOr<cost::CostModel> model = loadCostModel(getOperation(), cluster);
  if (failed(model))
    return failure();
  return copySharedUpdates(entry, schedule, pipeline.axis, *model);
}

LogicalResult FormTimelines::form(func::FuncOp entry,
                                  const StagePipeline &pipeline,
                                  int64_t stages) {
  FailureOr<PipelineSchedule> found = findSchedule(entry, pipeline, stages);
  if (failed(found))
    return failure();
  Microbatches loops(entry.front());
  int64_t count = loops.any() ? loops.getLoops()[0].getCount() : 1;
  // For reports: those that are frozen as well.
  for (BlockArgument argument : findLoopParameters(entry))
    entry.setArgAttr(argument.getArgNumber(), WeftDialect::kParameterAttrName,
                     UnitAttr::get(&getContext()));
  FailureOr<ResultCopies> copies = copyUpdates(entry, *found, pipeline);
  if (failed(copies))
    return failure();
  CutEntry cut = cutSegments(entry, *found, names, holders, *copies);
  for (const auto &[place, state] : cut.states)
    if (!state.readers.empty())
      holders[place.second].insert(place.first);
  FailureOr<TimelineRows> rows = makeRows(entry, cut, *found);
  if (failed(rows))
    return failure();
  for (const auto &[key, function] : cut.segments)
    setSlots(function, rows->slots);
  Builder b(&getContext());
  entry->setAttr(
      WeftDialect::kTimelineAttrName,
      TimelineAttr::get(
          &getContext(), b.getStringAttr(pipeline.axis), count,
          b.getStrArrayAttr(llvm::to_vector_of<StringRef>(rows->rows)),
          b.getArrayAttr(rows->messages)));
  segments += cut.segments.size();
  messages += cut.messages.size();
  return success();
}
