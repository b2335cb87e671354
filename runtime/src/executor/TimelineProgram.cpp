//===- TimelineProgram.cpp - What a CPU rank does in a timeline -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/EntryMemory.h"
#include "executor/Program.h"

#include <algorithm>
#include <map>
#include <set>

namespace weft::runtime {

size_t Program::collectivesInFlight() const {
  size_t most = firstNumber + collectives.size();
  for (const Program &segment : segments)
    most = std::max(most, segment.collectivesInFlight());
  return most;
}

void Program::forEachOperation(
    const std::function<void(BoundOperation &)> &visit) const {
  for (const auto &operation : operations)
    visit(*operation);
  for (const Program &segment : segments)
    segment.forEachOperation(visit);
}

/// One for each input that is no state, as the session counts them; without
/// memory where the role does not have it.
static void bindInputs(Program &program, const BindingContext &context,
                       uint32_t role) {
  const EntryMemory memory(*program.entry, context.arena);
  for (const plan::Binding *input : *program.entry->inputs()) {
    if (memory.buffer(input->buffer()).kind() != plan::BufferKind::Input)
      continue;
    StagedInput &staged = program.inputs.emplace_back();
    if (const auto buffer = bufferOf(*program.entry, *input, role)) {
      staged.staging.resize(memory.usedBytes(*buffer));
      staged.destination = memory.address(*buffer);
    }
  }
}

static uint32_t countCollectives(const plan::Entry &segment) {
  return static_cast<uint32_t>(std::ranges::count_if(
      *segment.instructions(), [](const plan::Instruction *instruction) {
        return instruction->operation_as_CollectiveStart() != nullptr;
      }));
}

/// By segment of a role, what is in flight while it runs.
static std::map<uint32_t, CollectiveFlight>
findFlights(const plan::Plan &plan, const plan::Timeline &timeline,
            uint32_t role) {
  std::map<uint32_t, CollectiveFlight> flights;
  std::set<uint32_t> deferred;
  uint32_t next = 0;
  size_t inFlight = 0;
  for (const TimelineStep &step : timelineSteps(plan, timeline, role)) {
    const plan::Action &action =
        *timeline.rows()->Get(role)->actions()->Get(step.action);
    if (action.kind() != plan::ActionKind::Run)
      continue;
    const plan::Entry &segment = *plan.entries()->Get(action.index());
    const bool isDeferred = segment.deferred_from().has_value();
    flights[action.index()].isShared |= isDeferred || inFlight > 0;
    if (step.kind == TimelineStep::Kind::Wait)
      --inFlight;
    else if (isDeferred) {
      ++inFlight;
      deferred.insert(action.index());
    } else {
      next = std::max(next, countCollectives(segment));
    }
  }
  for (uint32_t index : deferred) {
    flights[index].firstNumber = next;
    next += countCollectives(*plan.entries()->Get(index));
  }
  return flights;
}

Result<Program> bindTimeline(uint32_t entry, const BindingContext &context) {
  Program program;
  program.entry = context.plan.entries()->Get(entry);
  const plan::Timeline &timeline = *program.entry->timeline();
  const uint32_t role = context.roles.of(context.rank);
  bindInputs(program, context, role);
  const auto addTransfer = [&](const TimelineStep &step,
                               const plan::Action &action) -> Status {
    const uint32_t queue = timeline.messages()->Get(action.index())->queue();
    Channel *channel =
        context.world.channel(context.rank, context.queues.of(entry, queue));
    program.order.add(static_cast<uint32_t>(program.steps.size()));
    if (step.kind == TimelineStep::Kind::Start) {
      program.transfers.push_back(transferOf(context.plan, timeline, role,
                                             step.action, context.arena,
                                             context.deadline));
      program.steps.push_back(
          {TransferStep{channel, &program.transfers.back(), step.action}, entry,
           action.index()});
    } else {
      program.steps.push_back(
          {TransferWaitStep{channel, step.action}, entry, action.index()});
    }
    return {};
  };
  const std::map<uint32_t, CollectiveFlight> flights =
      findFlights(context.plan, timeline, role);
  WEFT_RETURN_IF_ERROR(bindSteps(
      program, context.plan, timeline, role,
      [&](uint32_t segment, uint32_t microbatch) {
        return bindProgram(segment, context, microbatch, flights.at(segment));
      },
      addTransfer));
  program.isAsynchronous =
      std::ranges::any_of(program.segments, [](const Program &each) {
        return each.isAsynchronous;
      });
  return program;
}

} // namespace weft::runtime
