//===- TimelineRows.cpp - When the segments of an entry run ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimelineRows.h"

#include "Stages.h"

#include "weft/IR/Segments.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Timeline/Counted.h"
#include "weft/Timeline/Extent.h"
#include "weft/Timeline/Rings.h"
#include "weft/Timeline/Schedules.h"
#include "weft/Timeline/SlotUses.h"
#include "weft/Timeline/StepRows.h"
#include "weft/Timeline/TableRules.h"

using namespace mlir;
using namespace weft;
using timeline::Action;
using timeline::ActionKind;
using timeline::counted;
using timeline::Row;
using timeline::Table;

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

/// Losses and gradients are added up in one order by all schedules. Where a row
/// leaves it, once for each stage and way.
static std::vector<std::string> findDescending(const Table &table) {
  std::vector<std::string> problems;
  for (auto [number, row] : llvm::enumerate(table.rows)) {
    std::map<std::pair<int32_t, bool>, Action> last;
    std::set<std::pair<int32_t, bool>> told;
    for (const Action &action : row) {
      if (!isCompute(action.kind) || action.kind == ActionKind::InputGradient)
        continue;
      const bool isForward = action.kind == ActionKind::Forward;
      const std::pair way(action.stage, isForward);
      auto [before, isFirst] = last.try_emplace(way, action);
      if (before->second.microbatch > action.microbatch &&
          told.insert(way).second)
        problems.push_back(
            "row " + std::to_string(number + 1) + ": " + print(before->second) +
            " stands before " + print(action) + "; a stage goes " +
            (isForward ? "through its micro-batches in ascending order, in "
                         "which losses are added"
                       : "back through its micro-batches in ascending order, "
                         "in which gradients are added"));
      before->second = action;
    }
  }
  return problems;
}

static FailureOr<Table> readTable(func::FuncOp entry,
                                  const ScheduleRequest &request) {
  timeline::ParsedTable parsed =
      timeline::parseCsv(request.pipeline.table, request.pipeline.tableName);
  for (const std::string &problem : parsed.errors)
    entry.emitError() << problem;
  if (!parsed.errors.empty())
    return failure();
  std::vector<std::string> problems = timeline::findProblems(parsed.table);
  if (problems.empty())
    problems = findDescending(parsed.table);
  for (const std::string &problem : problems)
    entry.emitError() << request.pipeline.tableName << ": " << problem;
  if (!problems.empty())
    return failure();
  return timeline::computeOnly(parsed.table);
}

/// Whether a table has the stages and micro-batches of the model and a row for
/// each rank of the mesh.
static LogicalResult checkExtent(func::FuncOp entry,
                                 const ScheduleRequest &request,
                                 const timeline::Extent &extent, int64_t rows,
                                 int64_t ranks) {
  auto report = [&](const std::string &what) {
    return entry.emitError()
           << request.pipeline.tableName << " has " << what << ", but ";
  };
  if (rows != ranks)
    report(counted(rows, "row"))
        << "the mesh has " << counted(ranks, "rank") << " along \""
        << request.pipeline.axis << "\"; a table has a row for each of them";
  if (extent.stages != request.stages)
    report(counted(extent.stages, "stage"))
        << "@" << entry.getSymName() << " has " << request.stages
        << "; take a table of " << counted(request.stages, "stage")
        << (extent.stages == 1
                ? ", or no stage boundary"
                : ", or put " + counted(extent.stages - 1, "stage boundary",
                                        "stage boundaries"))
        << " in the model";
  if (extent.microbatches != request.microbatches)
    report(counted(extent.microbatches, "micro-batch", "micro-batches"))
        << "@" << entry.getSymName() << " has " << request.microbatches
        << "; take a table of " << request.microbatches
        << ", or split the batch into " << extent.microbatches;
  return success(rows == ranks && extent.stages == request.stages &&
                 extent.microbatches == request.microbatches);
}

/// Lets every stage go through the micro-batches in order, each way: gradients
/// are added in one order by all schedules. Of the published ones looped-bfs
/// goes back in the other order.
static void sortMicrobatches(Table &table) {
  std::map<std::pair<int32_t, ActionKind>, std::vector<Action *>> passes;
  for (Row &row : table.rows)
    for (Action &action : row)
      passes[{action.stage, action.kind}].push_back(&action);
  for (auto &[pass, actions] : passes) {
    std::vector<int32_t> numbers;
    for (const Action *action : actions)
      numbers.push_back(action->microbatch);
    llvm::sort(numbers);
    for (auto [action, number] : llvm::zip_equal(actions, numbers))
      action->microbatch = number;
  }
}

/// Pairs that overlap run one after the other, and a backward pass in halves
/// where other micro-batches have halves.
static void simplify(PipelineSchedule &schedule) {
  std::vector<bool> hasHalves(schedule.placement.size());
  for (const Row &row : schedule.table.rows)
    for (const Action &action : row)
      if (action.kind == ActionKind::InputGradient)
        hasHalves[action.stage] = true;
  for (Row &row : schedule.table.rows) {
    Row simple;
    for (Action action : row) {
      action.overlapsNext = false;
      if (action.kind == ActionKind::Backward && hasHalves[action.stage]) {
        action.kind = ActionKind::InputGradient;
        simple.push_back(action);
        action.kind = ActionKind::WeightGradient;
      }
      simple.push_back(action);
    }
    row = std::move(simple);
  }
  for (bool halves : hasHalves)
    schedule.isMerged.push_back(!halves);
}

FailureOr<PipelineSchedule>
weft::findPipelineSchedule(func::FuncOp entry, const ScheduleRequest &request) {
  FailureOr<int64_t> ranks = findPipelineRanks(entry, request.pipeline.axis);
  if (failed(ranks))
    return failure();
  PipelineSchedule schedule;
  if (request.pipeline.table.empty()) {
    timeline::GeneratedTable generated =
        timeline::generate(request.pipeline.schedule,
                           {int32_t(*ranks), int32_t(request.microbatches),
                            int32_t(request.stages / *ranks)});
    if (!generated.error.empty())
      return entry.emitError() << generated.error;
    schedule.table = std::move(generated.table);
    sortMicrobatches(schedule.table);
  } else {
    FailureOr<Table> table = readTable(entry, request);
    if (failed(table))
      return failure();
    schedule.table = std::move(*table);
  }
  timeline::Extent extent = timeline::extentOf(schedule.table);
  if (failed(
          checkExtent(entry, request, extent, schedule.table.ranks(), *ranks)))
    return failure();
  schedule.placement = std::move(extent.placement);
  simplify(schedule);
  return schedule;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

class RowMaker {
public:
  RowMaker(func::FuncOp entry, const CutEntry &cut,
           const PipelineSchedule &schedule)
      : entry(entry), cut(cut), schedule(schedule) {}

  FailureOr<TimelineRows> run();

private:
  void findShape();
  int64_t bytesOf(const SegmentMessage &message) const;
  bool touches(const Action &action, const std::string &name,
               const SegmentState &state) const;
  std::string lineOfAction(const Action &action) const;
  std::optional<StateSlots> findSlots(const Table &table,
                                      std::string &why) const;
  MessageAttr attrOf(const SegmentMessage &message, int64_t queue) const;

  func::FuncOp entry;
  const CutEntry &cut;
  const PipelineSchedule &schedule;
  timeline::StepShape shape;
  /// The messages of the edges, by the sends of one micro-batch.
  std::map<Action, const SegmentMessage *> messageOfSend;
};

} // namespace

static bool isBackward(const SegmentMessage &message) {
  return message.after.kind != ActionKind::Forward;
}

static Action sendOf(const SegmentMessage &message, int64_t microbatch) {
  const SegmentKey &after = message.after;
  ActionKind kind = after.kind == ActionKind::Prologue
                        ? ActionKind::SendPrologue
                    : after.kind == ActionKind::Update ? ActionKind::SendUpdate
                    : isBackward(message) ? ActionKind::SendBackward
                                          : ActionKind::SendForward;
  return {int32_t(after.stage), kind,
          int32_t(after.isOnce() ? after.level : microbatch), false,
          int32_t(message.destination)};
}

/// The send that a transfer is the send or the receive of, with the stage at
/// the other end even if that is a neighbour.
static Action sendOf(Action transfer) {
  int32_t peer = timeline::peerOf(transfer);
  switch (transfer.kind) {
  case ActionKind::ReceiveForward:
    return {peer, ActionKind::SendForward, transfer.microbatch, false,
            transfer.stage};
  case ActionKind::ReceiveBackward:
    return {peer, ActionKind::SendBackward, transfer.microbatch, false,
            transfer.stage};
  case ActionKind::ReceivePrologue:
    return {peer, ActionKind::SendPrologue, transfer.microbatch, false,
            transfer.stage};
  case ActionKind::ReceiveUpdate:
    return {peer, ActionKind::SendUpdate, transfer.microbatch, false,
            transfer.stage};
  default:
    transfer.peer = peer;
    return transfer;
  }
}

int64_t RowMaker::bytesOf(const SegmentMessage &message) const {
  int64_t bytes = 0;
  for (const std::string &name : message.values)
    bytes += cut.states.at({schedule.roleOf(message.after.stage), name}).bytes;
  return bytes;
}

void RowMaker::findShape() {
  shape.placement = schedule.placement;
  for (const Row &row : schedule.table.rows)
    for (const Action &action : row)
      shape.microbatches = std::max(shape.microbatches, action.microbatch + 1);
  shape.prologueLevels.resize(schedule.placement.size());
  shape.updateLevels.resize(schedule.placement.size());
  auto addLevel = [&](const SegmentKey &key) {
    if (!key.isLevel())
      return;
    int32_t &levels =
        (key.kind == ActionKind::Update ? shape.updateLevels
                                        : shape.prologueLevels)[key.stage];
    levels = std::max(levels, int32_t(key.level + 1));
  };
  for (const auto &[key, function] : cut.segments) {
    addLevel(key);
    if (key.kind == ActionKind::Unshard)
      shape.gatheredStages.push_back(key.stage);
    if (timeline::isPassGather(key.kind))
      shape.gatheredPasses.push_back({int32_t(key.stage), key.kind});
    if (key.kind == ActionKind::ReduceGradient)
      shape.reducedStages.push_back(key.stage);
  }
  for (const SegmentMessage &message : cut.messages) {
    addLevel(message.after);
    int32_t source = message.after.stage, destination = message.destination;
    if (message.after.isOnce())
      shape.onceEdges.push_back(
          {source, destination, message.after.kind == ActionKind::Update,
           int32_t(message.after.level), bytesOf(message)});
    else
      shape.edges.push_back(
          {source, destination, isBackward(message), bytesOf(message)});
    messageOfSend[sendOf(message, 0)] = &message;
  }
}

/// Whether an action reads or writes a state of its role.
bool RowMaker::touches(const Action &action, const std::string &name,
                       const SegmentState &state) const {
  if (timeline::isTransfer(action.kind)) {
    Action send = sendOf(action);
    if (!timeline::isOnce(send.kind))
      send.microbatch = 0;
    return llvm::is_contained(messageOfSend.at(send)->values, name);
  }
  SegmentKey key{action.stage, action.kind, 0};
  if (key.isLevel())
    key.level = action.microbatch;
  return state.writers.count(key) || state.readers.count(key);
}

std::string RowMaker::lineOfAction(const Action &action) const {
  if (!timeline::isTransfer(action.kind)) {
    SegmentKey key{action.stage, action.kind,
                   timeline::isOnce(action.kind) ? action.microbatch : 0};
    return lineOf(cut.segments.at(key));
  }
  Action send = sendOf(action);
  if (!timeline::isOnce(send.kind))
    send.microbatch = 0;
  const SegmentMessage &message = *messageOfSend.at(send);
  return lineOf(cut.segments.at(message.after), message.values.front());
}

/// Whether a gather for a pass writes a state: over what that of the
/// micro-batch before has left, once that is used.
static bool isGathered(const SegmentState &state) {
  return llvm::any_of(state.writers, [](const SegmentKey &writer) {
    return timeline::isPassGather(writer.kind);
  });
}

/// Finds how many slots the states need, and proves the job safe. None if it
/// is not, with the reason in `why`.
std::optional<StateSlots> RowMaker::findSlots(const Table &table,
                                              std::string &why) const {
  std::vector<timeline::RingValue> values;
  std::vector<std::pair<int64_t, std::string>> places;
  StateSlots slots;
  for (const auto &[place, state] : cut.states) {
    const auto &[role, name] = place;
    if (state.isNumber) {
      slots[place] = shape.microbatches;
    } else if (state.isOfMicrobatch && !isGathered(state)) {
      values.push_back(
          {int32_t(role),
           timeline::touchesOf(table.rows[role], shape.microbatches,
                               [&](const Action &action) {
                                 return touches(action, name, state);
                               })});
      places.push_back(place);
    }
  }
  timeline::RingPlan rings =
      timeline::planRings(table, values, timeline::SendEnd::BehindNext);
  for (auto [place, depth] : llvm::zip_equal(places, rings.depths))
    slots[place] = std::max(depth, 1);
  timeline::Job job = timeline::makeJob(table, shape);
  job.slotUses = std::move(rings.uses);
  job.waits = timeline::waitsOfWalk(job, rings.waits);
  job.lineOf = [&](const Action &action) { return lineOfAction(action); };
  timeline::Verdict verdict = timeline::check(job);
  if (verdict.isSafe())
    return slots;
  // All that follows from one mistake is long.
  constexpr size_t mostProblems = 5;
  if (verdict.problems.size() > mostProblems)
    verdict.problems.resize(mostProblems);
  why = StringRef(timeline::print(verdict, "timeline")).rtrim().str();
  return std::nullopt;
}

MessageAttr RowMaker::attrOf(const SegmentMessage &message,
                             int64_t queue) const {
  MLIRContext *context = func::FuncOp(entry).getContext();
  Builder b(context);
  const SegmentKey &after = message.after;
  StringRef kind = after.kind == ActionKind::Prologue ? "P"
                   : after.kind == ActionKind::Update ? "U"
                   : isBackward(message)              ? "B"
                                                      : "F";
  return MessageAttr::get(
      context, b.getStringAttr(kind), after.level, after.stage,
      message.destination, queue,
      b.getStrArrayAttr(llvm::to_vector_of<StringRef>(message.values)));
}

FailureOr<TimelineRows> RowMaker::run() {
  findShape();
  // Where late receives would hold up those who send, early ones do not.
  std::optional<StateSlots> slots;
  Table table;
  std::string why;
  for (auto receives :
       {timeline::Receives::OneAhead, timeline::Receives::WithSend}) {
    timeline::TransferredTable made =
        timeline::makeStepRows(schedule.table, shape, receives);
    if (!made.error.empty())
      return entry.emitError() << "schedule: " << made.error;
    table = std::move(made.table);
    slots = findSlots(table, why);
    if (slots)
      break;
  }
  if (!slots)
    return entry.emitError() << "schedule: " << why;

  TimelineRows rows;
  rows.slots = std::move(*slots);
  for (const Row &row : table.rows) {
    StringRef text = rows.rows.emplace_back(printCsv(Table{{row}}));
    rows.rows.back() = text.rtrim().str();
  }
  timeline::StepQueues queues = timeline::assignQueues(shape);
  size_t edges = 0, onceEdges = 0;
  for (const SegmentMessage &message : cut.messages)
    rows.messages.push_back(attrOf(message, message.after.isOnce()
                                                ? queues.ofOnceEdge[onceEdges++]
                                                : queues.ofEdge[edges++]));
  return rows;
}

FailureOr<TimelineRows> weft::makeRows(func::FuncOp entry, const CutEntry &cut,
                                       const PipelineSchedule &schedule) {
  return RowMaker(entry, cut, schedule).run();
}
