//===- VerifyDeferred.cpp - Segments that go on beside others -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A segment with deferred instructions is in flight from its run until these
// are executed. timelineSteps() finds when by the names of states; here it is
// the bytes of the arena that decide: what runs, is sent or is received in
// between touches none of the segment's, unless both only read them.
//
//===----------------------------------------------------------------------===//

#include "plan/PlanVerifier.h"
#include "plan/Text.h"
#include "plan/TimelineOrder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace weft::runtime {
namespace {

/// Bytes of the arena that an action uses.
struct Range {
  uint64_t begin, end;
  bool isWritten;
  /// For messages.
  std::string_view name;
};
using Ranges = std::vector<Range>;

class DeferredVerifier {
public:
  DeferredVerifier(const VerifiedHeader &header, const plan::Entry &entry,
                   uint32_t role)
      : plan(header.plan), timeline(*entry.timeline()),
        row(*timeline.rows()->Get(role)->actions()), role(role) {}

  Status verify();

private:
  using Key = std::pair<plan::ActionKind, uint32_t>;

  const Ranges &rangesOf(const plan::Action &action);
  Status verifyBeside(uint32_t running, uint32_t action);
  std::string describe(uint32_t action) const;

  const plan::Plan &plan;
  const plan::Timeline &timeline;
  const flatbuffers::Vector<const plan::Action *> &row;
  const uint32_t role;
  std::map<Key, Ranges> ranges;
  std::map<std::pair<Key, Key>, bool> verified;
};

} // namespace

std::string DeferredVerifier::describe(uint32_t action) const {
  const plan::Action &each = *row.Get(action);
  if (each.kind() == plan::ActionKind::Run)
    return fmt::format(
        "action {} (run \"{}\")", action,
        escaped(view(plan.entries()->Get(each.index())->name())));
  return fmt::format("action {} ({} message {})", action,
                     each.kind() == plan::ActionKind::Send ? "send" : "receive",
                     each.index());
}

static Ranges rangesOfSegment(const plan::Entry &segment) {
  std::vector<bool> isOutput(segment.buffers()->size());
  for (const plan::Binding *output : *segment.outputs())
    isOutput[output->buffer()] = true;
  Ranges ranges;
  for (uint32_t i = 0; i < segment.buffers()->size(); ++i) {
    const plan::Buffer &buffer = *segment.buffers()->Get(i);
    ranges.push_back(
        {buffer.offset(), buffer.offset() + spanOf(buffer),
         buffer.kind() == plan::BufferKind::Temporary || isOutput[i],
         view(buffer.name())});
  }
  return ranges;
}

/// All slots of its states: what goes on for a micro-batch has one of each.
const Ranges &DeferredVerifier::rangesOf(const plan::Action &action) {
  const auto [it, isNew] = ranges.try_emplace({action.kind(), action.index()});
  if (!isNew)
    return it->second;
  if (action.kind() == plan::ActionKind::Run)
    return it->second = rangesOfSegment(*plan.entries()->Get(action.index()));
  const plan::Message &message = *timeline.messages()->Get(action.index());
  const bool sends = action.kind() == plan::ActionKind::Send;
  for (uint32_t number :
       sends ? *message.source_states() : *message.destination_states()) {
    const plan::State &state = *plan.states()->Get(number);
    it->second.push_back({state.offset(), state.offset() + spanOf(state),
                          !sends, view(state.name())});
  }
  return it->second;
}

/// Once for each pair of what they do.
Status DeferredVerifier::verifyBeside(uint32_t running, uint32_t action) {
  const plan::Action &first = *row.Get(running), &second = *row.Get(action);
  bool &isVerified = verified[{{first.kind(), first.index()},
                               {second.kind(), second.index()}}];
  if (isVerified)
    return {};
  isVerified = true;
  for (const Range &a : rangesOf(first))
    for (const Range &b : rangesOf(second))
      if ((a.isWritten || b.isWritten) && a.begin < b.end && b.begin < a.end)
        return invalidArgument(fmt::format(
            "role {}: {} uses bytes {}..{} (\"{}\"), of which {} before it, "
            "still in flight, has {}..{} (\"{}\"); it must wait for that or "
            "use other memory",
            role, describe(action), b.begin, b.end, escaped(b.name),
            describe(running), a.begin, a.end, escaped(a.name)));
  return {};
}

Status DeferredVerifier::verify() {
  std::vector<uint32_t> inFlight;
  for (const TimelineStep &step : timelineSteps(plan, timeline, role)) {
    const plan::Action &action = *row.Get(step.action);
    const bool isRun = action.kind() == plan::ActionKind::Run;
    if (step.kind == TimelineStep::Kind::Wait) {
      if (isRun)
        std::erase(inFlight, step.action);
      continue;
    }
    for (uint32_t running : inFlight) {
      if (isRun && row.Get(running)->index() == action.index())
        return invalidArgument(fmt::format(
            "role {}: {} is before what {} puts off; a segment can be in "
            "flight once",
            role, describe(step.action), describe(running)));
      WEFT_RETURN_IF_ERROR(verifyBeside(running, step.action));
    }
    if (isRun && plan.entries()->Get(action.index())->deferred_from())
      inFlight.push_back(step.action);
  }
  return {};
}

/// Where a segment is put off: behind its loops and what it starts.
static Status verifyPlace(const plan::Entry &segment) {
  const uint32_t from = *segment.deferred_from();
  const auto &instructions = *segment.instructions();
  if (from == 0 || from >= instructions.size())
    return invalidArgument(
        fmt::format("is put off from instruction {} of {}; some must come "
                    "before, and some behind",
                    from, instructions.size()));
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    const plan::Instruction &instruction = *instructions.Get(i);
    const auto *loop = instruction.operation_as_Repeat();
    if (loop && i < from && i + loop->instructions() >= from)
      return invalidArgument(fmt::format(
          "is put off from instruction {}, which is in the loop of {}", from,
          i));
    if (i >= from && instruction.operation_as_CollectiveStart())
      return invalidArgument(
          fmt::format("is put off from instruction {}, but instruction {} "
                      "starts a collective",
                      from, i));
  }
  return {};
}

Status verifyDeferred(const VerifiedHeader &header, const plan::Entry &entry) {
  for (uint32_t role = 0; role < header.roles.count(); ++role) {
    std::set<uint32_t> found;
    for (const plan::Action *action :
         *entry.timeline()->rows()->Get(role)->actions()) {
      if (action->kind() != plan::ActionKind::Run)
        continue;
      const plan::Entry &segment = *header.plan.entries()->Get(action->index());
      if (segment.deferred_from() && found.insert(action->index()).second)
        WEFT_RETURN_IF_ERROR(verifyPlace(segment).withContext(
            fmt::format("segment \"{}\"", escaped(view(segment.name())))));
    }
    if (!found.empty())
      WEFT_RETURN_IF_ERROR(DeferredVerifier(header, entry, role).verify());
  }
  return {};
}

} // namespace weft::runtime
