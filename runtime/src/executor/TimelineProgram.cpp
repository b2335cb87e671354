//===- TimelineProgram.cpp - A timeline bound to the memory of a rank -----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/EntryMemory.h"
#include "executor/Program.h"
#include "plan/Text.h"

#include <algorithm>
#include <map>

namespace weft::runtime {

uint32_t Program::actionAt(uint32_t position) const {
  const auto next =
      std::ranges::upper_bound(actions, position, {}, &ActionBegin::position);
  return next == actions.begin() ? 0 : std::prev(next)->action;
}

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

namespace {

/// Puts the steps of segments, sends and receives behind each other.
class TimelineBinder {
public:
  TimelineBinder(uint32_t number, const BindingContext &context)
      : number(number), entry(*context.plan.entries()->Get(number)),
        timeline(*entry.timeline()), context(context),
        role(context.roles.of(context.rank)) {
    program.entry = &entry;
    program.row = timeline.rows()->Get(role);
  }

  Result<Program> bind();

private:
  /// A segment as it is bound: its first step, and their order.
  struct Segment {
    uint32_t base;
    std::vector<uint32_t> order;
  };

  void bindInputs();
  std::vector<uint32_t> slotsOf(const plan::Action &action) const;
  Result<const Segment *> bindSegment(const plan::Action &action);
  Transfer transferOf(uint32_t index, const plan::Action &action) const;
  void addTransfer(const TimelineStep &step, const plan::Action &action);
  Status add(const TimelineStep &step);

  const uint32_t number;
  const plan::Entry &entry;
  const plan::Timeline &timeline;
  const BindingContext &context;
  const uint32_t role;
  Program program;
  /// By segment and the slots that it works in.
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, Segment> bound;
};

} // namespace

/// One for each input that is no state, as the session counts them; without
/// memory where the role does not have it.
void TimelineBinder::bindInputs() {
  const EntryMemory memory(entry, context.arena);
  for (const plan::Binding *input : *entry.inputs()) {
    if (memory.buffer(input->buffer()).kind() != plan::BufferKind::Input)
      continue;
    StagedInput &staged = program.inputs.emplace_back();
    const auto stage = [&](uint32_t buffer) {
      if (!isOf(memory.buffer(buffer).role(), role))
        return;
      staged.staging.resize(memory.usedBytes(buffer));
      staged.destination = memory.address(buffer);
    };
    stage(input->buffer());
    if (const auto *copies = input->copies())
      std::ranges::for_each(*copies, stage);
  }
}

/// Micro-batches for which these are alike have the same memory.
std::vector<uint32_t>
TimelineBinder::slotsOf(const plan::Action &action) const {
  std::vector<uint32_t> slots;
  const plan::Entry &segment = *context.plan.entries()->Get(action.index());
  for (const plan::Buffer *buffer : *segment.buffers())
    if (buffer->slots() != 1)
      slots.push_back(action.microbatch() % buffer->slots());
  return slots;
}

Result<const TimelineBinder::Segment *>
TimelineBinder::bindSegment(const plan::Action &action) {
  const auto [it, isNew] =
      bound.try_emplace({action.index(), slotsOf(action)}, Segment());
  if (!isNew)
    return &it->second;
  Result<Program> segment =
      bindProgram(action.index(), context, action.microbatch());
  if (!segment.ok())
    return segment.status().withContext(fmt::format(
        "segment \"{}\"",
        escaped(view(context.plan.entries()->Get(action.index())->name()))));
  it->second = {static_cast<uint32_t>(program.steps.size()),
                segment->order.steps()};
  program.steps.insert(program.steps.end(), segment->steps.begin(),
                       segment->steps.end());
  program.isAsynchronous |= segment->isAsynchronous;
  segment->steps.clear();
  program.segments.push_back(*std::move(segment));
  return &it->second;
}

Transfer TimelineBinder::transferOf(uint32_t index,
                                    const plan::Action &action) const {
  const plan::Message &message = *timeline.messages()->Get(action.index());
  Transfer transfer;
  for (uint32_t number : action.kind() == plan::ActionKind::Send
                             ? *message.source_states()
                             : *message.destination_states()) {
    const plan::State &state = *context.plan.states()->Get(number);
    const DType dtype = dtypeOf(state.type()->dtype());
    size_t bytes = byteSize(dtype);
    for (int64_t extent : *state.type()->local_shape())
      bytes *= static_cast<size_t>(extent);
    transfer.parts.push_back(
        {context.arena + offsetOf(state, action.microbatch()), bytes, dtype});
  }
  transfer.message = action.index();
  transfer.microbatch = action.microbatch();
  transfer.label = view(message.label());
  transfer.role = role;
  transfer.action = index;
  transfer.timeout = context.deadline;
  return transfer;
}

void TimelineBinder::addTransfer(const TimelineStep &step,
                                 const plan::Action &action) {
  const plan::Message &message = *timeline.messages()->Get(action.index());
  Channel *channel = context.world.channel(
      context.rank, context.queues.of(number, message.queue()));
  program.order.add(static_cast<uint32_t>(program.steps.size()));
  if (step.kind == TimelineStep::Kind::Wait) {
    program.steps.push_back(
        {TransferWaitStep{channel, step.action}, number, action.index()});
    return;
  }
  program.transfers.push_back(transferOf(step.action, action));
  program.steps.push_back(
      {TransferStep{channel, &program.transfers.back(), step.action}, number,
       action.index()});
}

Status TimelineBinder::add(const TimelineStep &step) {
  const auto position = static_cast<uint32_t>(program.order.steps().size());
  if (program.actions.empty() || program.actions.back().action != step.during)
    program.actions.push_back({position, step.during});
  const plan::Action &action = *program.row->actions()->Get(step.action);
  if (step.kind != TimelineStep::Kind::Run) {
    addTransfer(step, action);
    return {};
  }
  WEFT_ASSIGN_OR_RETURN(const Segment *segment, bindSegment(action));
  for (uint32_t at : segment->order)
    program.order.add(segment->base + at);
  return {};
}

Result<Program> TimelineBinder::bind() {
  bindInputs();
  for (const TimelineStep &step : timelineSteps(context.plan, timeline, role))
    WEFT_RETURN_IF_ERROR(add(step));
  return std::move(program);
}

Result<Program> bindTimeline(uint32_t entry, const BindingContext &context) {
  return TimelineBinder(entry, context).bind();
}

} // namespace weft::runtime
