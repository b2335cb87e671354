//===- TimelineProgram.cpp - What a CPU rank does in a timeline -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/EntryMemory.h"
#include "executor/Program.h"

#include <algorithm>

namespace weft::runtime {

size_t Program::collectivesInFlight() const {
  size_t most = collectives.size();
  for (const Program &segment : segments)
    most = std::max(most, segment.collectives.size());
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
  WEFT_RETURN_IF_ERROR(bindSteps(
      program, context.plan, timeline, role,
      [&](uint32_t segment, uint32_t microbatch) {
        return bindProgram(segment, context, microbatch);
      },
      addTransfer));
  program.isAsynchronous =
      std::ranges::any_of(program.segments, [](const Program &each) {
        return each.isAsynchronous;
      });
  return program;
}

} // namespace weft::runtime
