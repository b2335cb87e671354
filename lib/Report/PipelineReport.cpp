//===- PipelineReport.cpp - The stages of an entry ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineReport.h"

#include "PlannedSchedule.h"

#include "weft/Report/PlanPrecision.h"
#include "weft/runtime/VisitOperation.h"

#include <algorithm>
#include <map>
#include <set>

namespace weft {

using timeline::ActionKind;

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

namespace {

/// What one execution takes.
struct Work {
  uint64_t flops = 0, collectiveBytes = 0;
  double seconds = 0;
};

} // namespace

/// By the rates of the device alone: `flops` and `bytes` of the plan.
static double secondsOf(const plan::Instruction &instruction,
                        cost::Precision precision,
                        const cost::CostModel &model) {
  return std::max(double(instruction.flops()) * model.secondsPerFlop(precision),
                  double(instruction.bytes()) * model.secondsPerByte());
}

/// Computation and collectives take their time beside each other, until an
/// instruction waits for a collective.
static Work workOf(const plan::Entry &entry, const cost::CostModel &model) {
  const cost::CollectiveCost links = model.links();
  Work work;
  double computed = 0, communicated = 0;
  std::vector<double> ends;
  std::vector<uint64_t> executions = countExecutions(entry);
  for (uint32_t i = 0; i < entry.instructions()->size(); ++i) {
    const plan::Instruction &instruction = *entry.instructions()->Get(i);
    const double times = executions[i];
    const auto compute = [&](cost::Precision precision) {
      computed += times * secondsOf(instruction, precision, model);
    };
    work.flops += executions[i] * instruction.flops();
    runtime::visitOperation(
        instruction,
        [&](const plan::CollectiveStart &start) {
          work.collectiveBytes += executions[i] * start.wire_bytes();
          communicated = std::max(communicated, computed) +
                         times * links.seconds(start.wire_bytes(), 1);
          ends.push_back(communicated);
        },
        [&](const plan::CollectiveWait &wait) {
          if (wait.id() < ends.size())
            computed = std::max(computed, ends[wait.id()]);
        },
        [&](const plan::Gemm &gemm) { compute(precisionOf(entry, gemm)); },
        [&](const plan::Convolution &convolution) {
          compute(precisionOf(entry, convolution.lhs()));
        },
        [&](const runtime::AttentionOperation auto &attention) {
          compute(precisionOf(entry, attention.query()));
        },
        [&](const runtime::OneOf<plan::Launch, plan::Copy, plan::Sort> auto &) {
          compute(cost::Precision::F32);
        },
        [](const plan::Repeat &) {});
  }
  work.seconds = std::max(computed, communicated);
  return work;
}

static bool writes(const plan::Entry &segment, std::string_view state) {
  return std::ranges::any_of(*segment.outputs(),
                             [&](const plan::Binding *output) {
                               return output->name()->string_view() == state;
                             });
}

static bool uses(const plan::Entry &segment, const plan::State &state) {
  return std::ranges::any_of(
      *segment.buffers(), [&](const plan::Buffer *buffer) {
        return buffer->kind() == plan::BufferKind::State &&
               buffer->offset() == state.offset();
      });
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

namespace {

class PipelineReporter {
public:
  PipelineReporter(const plan::Plan &plan, const plan::Entry &entry,
                   const std::vector<Segment> &segments,
                   const cost::CostModel &model)
      : plan(plan), planned(*entry.timeline()), segments(segments),
        model(model) {}

  PipelineReport run();

private:
  void addMessages();
  bool makeStages();
  void addSegment(const Segment &segment);
  void addParameters(const plan::State &state);
  void addShared(const plan::State &state);
  void addSent(const plan::Message &message, const MessageRecord &record);
  timeline::Table table() const;

  /// The first stage of a role.
  StageRecord &firstOf(int64_t role) {
    return *std::ranges::find(report.stages, role, &StageRecord::role);
  }

  const plan::Plan &plan;
  const plan::Timeline &planned;
  const std::vector<Segment> &segments;
  const cost::CostModel &model;
  PipelineReport report;
  timeline::Costs costs;
  /// By name.
  std::map<std::string, SharedParameter> shared;
};

} // namespace

void PipelineReporter::addMessages() {
  for (uint32_t i = 0; i < planned.messages()->size(); ++i) {
    const plan::Message &message = *planned.messages()->Get(i);
    MessageRecord record = {message.label()->str(), 0, 0, message.queue()};
    for (uint32_t state : *message.source_states())
      record.bytes += plan.states()->Get(state)->bytes();
    for (const plan::Action *action :
         *planned.rows()->Get(message.source_role())->actions())
      record.count +=
          action->kind() == plan::ActionKind::Send && action->index() == i;
    report.messages.push_back(std::move(record));
  }
}

/// Whether the names of all segments say what they do, and every role has a
/// stage.
bool PipelineReporter::makeStages() {
  std::set<std::pair<int64_t, int64_t>> stages;
  std::set<int64_t> roles;
  for (const Segment &segment : segments) {
    if (!segment.action)
      return false;
    if (timeline::isCompute(segment.action->kind)) {
      stages.insert({segment.action->stage, segment.role()});
      roles.insert(segment.role());
    }
  }
  for (auto [stage, role] : stages) {
    if (stage != int64_t(report.stages.size()))
      return false;
    report.stages.push_back({.stage = stage, .role = role});
  }
  costs.stages.assign(stages.size(), {0, 0, 0, std::nullopt, 1});
  return roles.size() == planned.rows()->size();
}

void PipelineReporter::addSegment(const Segment &segment) {
  const Work work = workOf(*segment.entry, model);
  const double time = work.seconds * 1e6;
  const bool isOnce = timeline::isOnce(segment.action->kind);
  StageRecord &stage =
      isOnce ? firstOf(segment.role()) : report.stages[segment.action->stage];
  timeline::StageCosts &cost = costs.stages[stage.stage];
  stage.collectiveBytes += segment.times * work.collectiveBytes;
  switch (segment.action->kind) {
  case ActionKind::Forward:
    stage.forwardFlops = work.flops;
    [[fallthrough]];
  case ActionKind::UnshardForward:
    cost.forward += time;
    break;
  case ActionKind::WeightGradient:
    stage.weightGradientFlops = work.flops;
    stage.backwardFlops += work.flops;
    cost.weightGradient = time;
    break;
  case ActionKind::InputGradient:
    stage.inputGradientFlops = work.flops;
    [[fallthrough]];
  case ActionKind::Backward:
    stage.backwardFlops += work.flops;
    [[fallthrough]];
  case ActionKind::UnshardBackward:
    cost.inputGradient += time;
    break;
  default:
    stage.onceFlops += segment.times * work.flops;
    stage.onceSeconds += double(segment.times) * work.seconds;
  }
}

/// Whether a segment uses parameters for passes of its stage.
static bool isForPasses(ActionKind kind) {
  return timeline::isCompute(kind) || timeline::isPassGather(kind) ||
         kind == ActionKind::Unshard;
}

/// Stages have the parameters that their passes use, or that are gathered for
/// them. What a prologue alone reads is of the first stage of its rank.
void PipelineReporter::addParameters(const plan::State &state) {
  std::set<int64_t> users;
  for (const Segment &segment : segments)
    if (segment.role() == state.role() && isForPasses(segment.action->kind) &&
        uses(*segment.entry, state))
      users.insert(segment.action->stage);
  if (users.empty())
    users.insert(firstOf(*state.role()).stage);
  for (int64_t user : users)
    report.stages[user].parameterBytes += state.bytes();
}

/// Adds a role to those that have a parameter.
void PipelineReporter::addShared(const plan::State &state) {
  const std::string_view name = state.name()->string_view();
  auto [found, isNew] = shared.try_emplace(std::string(name));
  SharedParameter &parameter = found->second;
  parameter.name = name;
  parameter.bytes = state.bytes();
  const bool updates =
      std::ranges::any_of(segments, [&](const Segment &segment) {
        return segment.role() == state.role() &&
               timeline::isOnce(segment.action->kind) &&
               writes(*segment.entry, name);
      });
  (updates ? parameter.updatedBy : parameter.sentTo).push_back(*state.role());
}

/// It is sent by the stage whose passes leave the values, else by the first one
/// of the role.
void PipelineReporter::addSent(const plan::Message &message,
                               const MessageRecord &record) {
  StageRecord *sender = &firstOf(message.source_role());
  if (message.source_states()->size() > 0) {
    const plan::State &state =
        *plan.states()->Get(message.source_states()->Get(0));
    for (const Segment &segment : segments)
      if (segment.role() == message.source_role() &&
          timeline::isCompute(segment.action->kind) &&
          writes(*segment.entry, state.name()->string_view()))
        sender = &report.stages[segment.action->stage];
  }
  sender->sentBytes += record.count * record.bytes;
  if (record.count == planned.microbatches())
    costs.transfer =
        std::max(costs.transfer, 1e6 * model.links().seconds(record.bytes, 1));
}

timeline::Table PipelineReporter::table() const {
  std::map<const plan::Entry *, timeline::Action> actions;
  for (const Segment &segment : segments)
    actions[segment.entry] = *segment.action;
  timeline::Table table;
  for (const plan::TimelineRow *row : *planned.rows()) {
    timeline::Row &out = table.rows.emplace_back();
    for (const plan::Action *action : *row->actions()) {
      if (action->kind() != plan::ActionKind::Run)
        continue;
      timeline::Action run = actions.at(plan.entries()->Get(action->index()));
      run.microbatch = action->microbatch();
      if (timeline::isCompute(run.kind))
        out.push_back(run);
    }
  }
  return table;
}

PipelineReport PipelineReporter::run() {
  report.axis = plan.mesh()->Get(plan.pipeline()->axis())->name()->str();
  addMessages();
  if (!makeStages()) {
    report.stages.clear();
    return std::move(report);
  }
  for (const Segment &segment : segments)
    addSegment(segment);
  for (const plan::State *state : *plan.states())
    if (state->role() && state->purpose() == plan::Purpose::Parameter) {
      addParameters(*state);
      addShared(*state);
    }
  for (auto &[name, parameter] : shared)
    if (parameter.updatedBy.size() + parameter.sentTo.size() > 1)
      report.shared.push_back(std::move(parameter));
  for (size_t i = 0; i < report.messages.size(); ++i)
    addSent(*planned.messages()->Get(i), report.messages[i]);
  report.schedule = findPlannedSchedule(table(), std::move(costs));
  return std::move(report);
}

PipelineReport makePipelineReport(const plan::Plan &plan,
                                  const plan::Entry &entry,
                                  const std::vector<Segment> &segments,
                                  const cost::CostModel &model) {
  return PipelineReporter(plan, entry, segments, model).run();
}

} // namespace weft
