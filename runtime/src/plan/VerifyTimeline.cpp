//===- VerifyTimeline.cpp - Values, rows and order of a timeline ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last check walks all rows as the ranks will, under rendezvous: a message
// arrives when both its ends have started, and whoever waits for it waits for
// that. An end starts when the message before it in its queue has arrived, and
// holds up all that its rank starts behind it: so devices do that launch what
// their streams have in the order of the host. A row only ever becomes able to
// go on, so that one order of walking
// them finds whether all end. Ranks of a role have one row, so that what they
// exchange among each other cannot change the answer.
//
//===----------------------------------------------------------------------===//

#include "plan/PlanVerifier.h"
#include "plan/Text.h"
#include "plan/TimelineOrder.h"

#include <algorithm>
#include <map>
#include <set>

namespace weft::runtime {
namespace {

class TimelineVerifier {
public:
  TimelineVerifier(const VerifiedHeader &header, const plan::Entry &entry)
      : header(header), entry(entry), timeline(*entry.timeline()) {}

  Status verify();

private:
  Status verifyBindings(
      std::string_view kind,
      const flatbuffers::Vector<flatbuffers::Offset<plan::Binding>> &bindings);
  Status verifyCopies(const plan::Binding &binding);
  Status verifyLocation(uint32_t index) const;
  Status verifyBuffers() const;
  Status verifyGroup() const;
  Status verifyMessage(const plan::Message &message);
  Status verifyStates(const plan::Message &message) const;
  Status verifyAction(uint32_t role, const plan::Action &action) const;
  Status verifyLength(uint32_t role) const;
  Status verifyRows();
  Status verifyQueues() const;
  Status verifyEnd() const;

  /// `message 2 "gradient" of micro-batch 3`.
  std::string describe(const plan::Action &action) const;
  std::string lineOf(const plan::Action &action) const;
  const plan::Action &action(uint32_t role, uint32_t index) const {
    return *timeline.rows()->Get(role)->actions()->Get(index);
  }

  const VerifiedHeader &header;
  const plan::Entry &entry;
  const plan::Timeline &timeline;
  /// Buffers that are bound.
  std::set<uint32_t> bound;
  /// By queue the roles that it connects, and the actions that start messages
  /// at its two ends, in order.
  struct Queue {
    uint32_t source, destination;
    std::vector<uint32_t> sends, receives;
  };
  std::map<uint32_t, Queue> queues;
};

/// How far a role has come.
struct Walker {
  std::vector<TimelineStep> steps;
  size_t at = 0;
  /// By action the number of the message in its queue.
  std::vector<uint32_t> numbers;
};

/// Walks the rows of all roles.
class Walk {
public:
  Walk(const plan::Plan &plan, const plan::Timeline &timeline);
  /// Roles that do not come to the end.
  std::vector<uint32_t> run();
  const Walker &walker(uint32_t role) const { return walkers[role]; }
  /// The send or receive that a role which does not come to the end waits for.
  uint32_t awaited(uint32_t role) const;

private:
  /// How many messages of a queue have started at each end.
  struct Counts {
    uint32_t sends = 0, receives = 0;
  };
  const plan::Action &action(uint32_t role, uint32_t index) const {
    return *timeline.rows()->Get(role)->actions()->Get(index);
  }
  uint32_t queueOf(const plan::Action &action) const {
    return timeline.messages()->Get(action.index())->queue();
  }
  bool advance(uint32_t role);

  const plan::Timeline &timeline;
  std::vector<Walker> walkers;
  std::vector<Counts> queues;
  /// Roles that may go on.
  std::vector<uint32_t> ready;
};

} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The values of one binding are alike, in different roles.
Status TimelineVerifier::verifyCopies(const plan::Binding &binding) {
  std::vector<uint32_t> buffers = {binding.buffer()};
  if (const auto *copies = binding.copies())
    buffers.insert(buffers.end(), copies->begin(), copies->end());
  std::set<uint32_t> roles;
  for (uint32_t index : buffers) {
    WEFT_RETURN_IF_ERROR(verifyBinding(header, entry, binding, index));
    const plan::Buffer &buffer = *entry.buffers()->Get(index);
    if (buffer.kind() != entry.buffers()->Get(binding.buffer())->kind())
      return invalidArgument(fmt::format(
          "buffers {} and {} are of different kinds", binding.buffer(), index));
    for (uint32_t role = 0; role < header.roles.count(); ++role)
      if (isOf(buffer.role(), role) && !roles.insert(role).second)
        return invalidArgument(fmt::format("has two buffers in role {}", role));
    bound.insert(index);
  }
  return {};
}

Status TimelineVerifier::verifyBindings(
    std::string_view kind,
    const flatbuffers::Vector<flatbuffers::Offset<plan::Binding>> &bindings) {
  std::set<std::string_view> names;
  for (const plan::Binding *binding : bindings) {
    const std::string what =
        fmt::format("{} \"{}\"", kind, escaped(view(binding->name())));
    if (!names.insert(view(binding->name())).second)
      return invalidArgument(what + " is listed twice");
    WEFT_RETURN_IF_ERROR(verifyCopies(*binding).withContext(what));
    if (header.roles.split(axesOf(*binding->type())))
      return invalidArgument(
          what + " is split or unreduced over the axis of the pipeline");
    const plan::BufferKind held =
        entry.buffers()->Get(binding->buffer())->kind();
    if (held ==
        (kind == "input" ? plan::BufferKind::Output : plan::BufferKind::Input))
      return invalidArgument(fmt::format("{} is bound to a buffer of kind {}",
                                         what, bufferKindName(held)));
  }
  return {};
}

/// Segments reach an input or output only through a state.
Status TimelineVerifier::verifyLocation(uint32_t index) const {
  const plan::Buffer &buffer = *entry.buffers()->Get(index);
  const auto holds = [&](const plan::State *state) {
    return (!state->role() || state->role() == buffer.role()) &&
           state->offset() <= buffer.offset() &&
           buffer.offset() + buffer.bytes() <= state->offset() + spanOf(*state);
  };
  if (buffer.bytes() == 0 || std::ranges::any_of(*header.plan.states(), holds))
    return {};
  return invalidArgument(
      fmt::format("buffer {} (bytes {}..{}) lies in no state of its role, "
                  "where segments could reach it",
                  index, buffer.offset(), buffer.offset() + buffer.bytes()));
}

Status TimelineVerifier::verifyBuffers() const {
  for (uint32_t i = 0; i < entry.buffers()->size(); ++i) {
    const plan::BufferKind kind = entry.buffers()->Get(i)->kind();
    if (kind == plan::BufferKind::Constant ||
        kind == plan::BufferKind::Temporary || !bound.contains(i))
      return invalidArgument(fmt::format(
          "buffer {} ({}) is no input and no output", i, bufferKindName(kind)));
    WEFT_RETURN_IF_ERROR(verifyLocation(i));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Rows and messages
//===----------------------------------------------------------------------===//

std::string TimelineVerifier::describe(const plan::Action &action) const {
  if (action.kind() == plan::ActionKind::Run)
    return fmt::format(
        "segment \"{}\" of micro-batch {}",
        escaped(view(header.plan.entries()->Get(action.index())->name())),
        action.microbatch());
  const plan::Message &message = *timeline.messages()->Get(action.index());
  return fmt::format("message {} \"{}\" of micro-batch {}", action.index(),
                     escaped(view(message.label())), action.microbatch());
}

/// ", model.py:12": where the model has what an action runs or moves.
std::string TimelineVerifier::lineOf(const plan::Action &action) const {
  std::string_view line;
  if (action.kind() != plan::ActionKind::Run) {
    line = view(timeline.messages()->Get(action.index())->location());
  } else {
    const auto &instructions =
        *header.plan.entries()->Get(action.index())->instructions();
    for (const plan::Instruction *instruction : instructions)
      if (line = view(instruction->location()); !line.empty())
        break;
  }
  return line.empty() ? "" : fmt::format(", {}", escaped(line));
}

Status TimelineVerifier::verifyGroup() const {
  if (timeline.group() >= header.plan.groups()->size())
    return invalidArgument(fmt::format("the timeline is over group {}, but the "
                                       "plan has {}",
                                       timeline.group(),
                                       header.plan.groups()->size()));
  const auto axes = axesOf(header.plan.groups()->Get(timeline.group()));
  if (axes.size() != 1 || axes[0].axis() != header.plan.pipeline()->axis() ||
      groupSize(axes) != header.roles.count())
    return invalidArgument(fmt::format(
        "the timeline is over group {} {}, which is not along the axis of the "
        "pipeline",
        timeline.group(), header.mesh.toString(axes)));
  return {};
}

/// A value has one name in all roles, so that a message which names another
/// state of the same type is none that the plan can mean.
Status TimelineVerifier::verifyStates(const plan::Message &message) const {
  const auto &from = *message.source_states(),
             &to = *message.destination_states();
  if (from.size() != to.size() || from.size() == 0)
    return invalidArgument(
        fmt::format("moves {} states to {}", from.size(), to.size()));
  const auto check = [&](uint32_t state, uint32_t role) -> Status {
    if (state >= header.plan.states()->size())
      return invalidArgument(fmt::format("moves state {}, but the plan has {}",
                                         state, header.plan.states()->size()));
    if (!isOf(header.plan.states()->Get(state)->role(), role))
      return invalidArgument(fmt::format(
          "state \"{}\" is not of role {}",
          escaped(view(header.plan.states()->Get(state)->name())), role));
    return {};
  };
  for (uint32_t i = 0; i < from.size(); ++i) {
    WEFT_RETURN_IF_ERROR(check(from.Get(i), message.source_role()));
    WEFT_RETURN_IF_ERROR(check(to.Get(i), message.destination_role()));
    const plan::State &source = *header.plan.states()->Get(from.Get(i));
    const plan::State &destination = *header.plan.states()->Get(to.Get(i));
    const DType dtype = dtypeOf(source.type()->dtype());
    const DType received = dtypeOf(destination.type()->dtype());
    WEFT_ASSIGN_OR_RETURN(const int64_t elements,
                          elementCount(*source.type()->local_shape(), dtype));
    WEFT_ASSIGN_OR_RETURN(
        const int64_t room,
        elementCount(*destination.type()->local_shape(), received));
    if (dtype != received || elements != room)
      return invalidArgument(
          fmt::format("moves state \"{}\" {} to state \"{}\" {}",
                      escaped(view(source.name())),
                      typeName(dtype, *source.type()->local_shape()),
                      escaped(view(destination.name())),
                      typeName(received, *destination.type()->local_shape())));
    if (view(source.name()) != view(destination.name()))
      return invalidArgument(fmt::format(
          "moves state \"{}\" of role {} to state \"{}\" of role {}; must have "
          "one name at both ends",
          escaped(view(source.name())), message.source_role(),
          escaped(view(destination.name())), message.destination_role()));
  }
  return {};
}

Status TimelineVerifier::verifyMessage(const plan::Message &message) {
  const uint32_t source = message.source_role();
  const uint32_t destination = message.destination_role();
  if (source >= header.roles.count() || destination >= header.roles.count() ||
      source == destination)
    return invalidArgument(
        fmt::format("goes from role {} to role {}, must be two of the {}",
                    source, destination, header.roles.count()));
  if (message.queue() >= timeline.messages()->size())
    return invalidArgument(
        fmt::format("is in queue {}, but there are no more queues than the {} "
                    "messages",
                    message.queue(), timeline.messages()->size()));
  const Queue &queue =
      queues.try_emplace(message.queue(), Queue{source, destination, {}, {}})
          .first->second;
  if (queue.source != source || queue.destination != destination)
    return invalidArgument(fmt::format(
        "goes from role {} to role {} in queue {}, which goes from role {} to "
        "role {}",
        source, destination, message.queue(), queue.source, queue.destination));
  return verifyStates(message);
}

Status TimelineVerifier::verifyAction(uint32_t role,
                                      const plan::Action &action) const {
  if (action.kind() > plan::ActionKind::MAX)
    return invalidArgument(
        fmt::format("is of unknown kind {}", static_cast<int>(action.kind())));
  if (action.microbatch() >= timeline.microbatches())
    return invalidArgument(fmt::format("is for micro-batch {} of {}",
                                       action.microbatch(),
                                       timeline.microbatches()));
  if (action.kind() == plan::ActionKind::Run) {
    if (action.index() >= header.plan.entries()->size())
      return invalidArgument(fmt::format("runs entry {}, but the plan has {}",
                                         action.index(),
                                         header.plan.entries()->size()));
    const plan::Entry &segment = *header.plan.entries()->Get(action.index());
    if (segment.role() != role)
      return invalidArgument(
          fmt::format("runs entry \"{}\", which is no segment of the role",
                      escaped(view(segment.name()))));
    return {};
  }
  if (action.index() >= timeline.messages()->size())
    return invalidArgument(
        fmt::format("is for message {}, but the timeline has {}",
                    action.index(), timeline.messages()->size()));
  const plan::Message &message = *timeline.messages()->Get(action.index());
  const bool sends = action.kind() == plan::ActionKind::Send;
  const uint32_t expected =
      sends ? message.source_role() : message.destination_role();
  if (expected != role)
    return invalidArgument(fmt::format("{} {}, as only role {} does",
                                       sends ? "sends" : "receives",
                                       describe(action), expected));
  return {};
}

/// Instructions that a call of a verified segment executes.
static uint64_t executedBy(const plan::Entry &segment) {
  uint64_t executed = 0;
  // Where loops end, and how often what is in them is executed.
  std::vector<std::pair<uint32_t, uint64_t>> loops;
  for (uint32_t i = 0; i < segment.instructions()->size(); ++i) {
    while (!loops.empty() && loops.back().first <= i)
      loops.pop_back();
    const uint64_t times = loops.empty() ? 1 : loops.back().second;
    executed += times;
    if (const auto *repeat =
            segment.instructions()->Get(i)->operation_as_Repeat())
      loops.emplace_back(i + 1 + repeat->instructions(),
                         times * repeat->count());
  }
  return executed;
}

Status TimelineVerifier::verifyLength(uint32_t role) const {
  std::map<uint32_t, uint64_t> ofSegments;
  uint64_t executed = 0;
  for (const plan::Action *action : *timeline.rows()->Get(role)->actions()) {
    if (action->kind() != plan::ActionKind::Run)
      continue;
    const auto [it, isNew] = ofSegments.try_emplace(action->index(), 0);
    if (isNew)
      it->second = executedBy(*header.plan.entries()->Get(action->index()));
    executed += it->second;
    if (executed > mostExecuted)
      return invalidArgument(fmt::format(
          "role {} executes more than {} instructions", role, mostExecuted));
  }
  return {};
}

Status TimelineVerifier::verifyRows() {
  if (timeline.microbatches() == 0)
    return invalidArgument("has 0 micro-batches, must have at least 1");
  if (timeline.rows()->size() != header.roles.count())
    return invalidArgument(
        fmt::format("the number of rows is {}, that of roles is {}",
                    timeline.rows()->size(), header.roles.count()));
  for (uint32_t i = 0; i < timeline.messages()->size(); ++i)
    WEFT_RETURN_IF_ERROR(verifyMessage(*timeline.messages()->Get(i))
                             .withContext(fmt::format("message {}", i)));
  for (uint32_t role = 0; role < header.roles.count(); ++role) {
    const auto &actions = *timeline.rows()->Get(role)->actions();
    for (uint32_t i = 0; i < actions.size(); ++i) {
      const plan::Action &action = *actions.Get(i);
      WEFT_RETURN_IF_ERROR(
          verifyAction(role, action)
              .withContext(fmt::format("role {} action {}", role, i)));
      if (action.kind() == plan::ActionKind::Run)
        continue;
      Queue &queue =
          queues.at(timeline.messages()->Get(action.index())->queue());
      (action.kind() == plan::ActionKind::Send ? queue.sends : queue.receives)
          .push_back(i);
    }
    WEFT_RETURN_IF_ERROR(verifyLength(role));
  }
  return {};
}

/// The k-th message that is sent in a queue is the k-th that is received.
Status TimelineVerifier::verifyQueues() const {
  for (const auto &[number, queue] : queues) {
    for (size_t k = 0; k < std::min(queue.sends.size(), queue.receives.size());
         ++k) {
      const plan::Action &sent = action(queue.source, queue.sends[k]);
      const plan::Action &received =
          action(queue.destination, queue.receives[k]);
      if (sent.index() != received.index() ||
          sent.microbatch() != received.microbatch())
        return invalidArgument(fmt::format(
            "queue {}: role {} action {} sends {}, but role {} action {} "
            "receives {}",
            number, queue.source, queue.sends[k], describe(sent),
            queue.destination, queue.receives[k], describe(received)));
    }
    if (queue.sends.size() != queue.receives.size())
      return invalidArgument(
          fmt::format("queue {}: role {} sends {} messages, but role {} "
                      "receives {}",
                      number, queue.source, queue.sends.size(),
                      queue.destination, queue.receives.size()));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Deadlock
//===----------------------------------------------------------------------===//

Walk::Walk(const plan::Plan &plan, const plan::Timeline &timeline)
    : timeline(timeline), queues(timeline.messages()->size()) {
  std::vector<Counts> counts(queues.size());
  for (uint32_t role = 0; role < timeline.rows()->size(); ++role) {
    Walker &walker = walkers.emplace_back(
        Walker{timelineSteps(plan, timeline, role), 0, {}});
    for (const plan::Action *action : *timeline.rows()->Get(role)->actions()) {
      uint32_t &number = walker.numbers.emplace_back(0);
      if (action->kind() == plan::ActionKind::Run)
        continue;
      Counts &count = counts[queueOf(*action)];
      number = action->kind() == plan::ActionKind::Send ? count.sends++
                                                        : count.receives++;
    }
    ready.push_back(role);
  }
}

/// Does the next step of a role, if it need not wait; whether it did.
bool Walk::advance(uint32_t role) {
  Walker &walker = walkers[role];
  const TimelineStep &step = walker.steps[walker.at];
  const plan::Action &next = action(role, step.action);
  // The rest of a segment waits for ranks of its role alone.
  if (next.kind() != plan::ActionKind::Run) {
    const plan::Message &message = *timeline.messages()->Get(next.index());
    Counts &counts = queues[message.queue()];
    const bool sends = next.kind() == plan::ActionKind::Send;
    const bool isStart = step.kind == TimelineStep::Kind::Start;
    const uint32_t arrived = std::min(counts.sends, counts.receives);
    if (arrived < walker.numbers[step.action] + !isStart)
      return false;
    if (isStart) {
      ++(sends ? counts.sends : counts.receives);
      ready.push_back(sends ? message.destination_role()
                            : message.source_role());
    }
  }
  ++walker.at;
  return true;
}

uint32_t Walk::awaited(uint32_t role) const {
  const Walker &walker = walkers[role];
  const TimelineStep &step = walker.steps[walker.at];
  if (step.kind == TimelineStep::Kind::Wait)
    return step.action;
  // The first of the queue that has not arrived.
  const plan::Action &next = action(role, step.action);
  const Counts &counts = queues[queueOf(next)];
  uint32_t index = 0;
  while (action(role, index).kind() != next.kind() ||
         queueOf(action(role, index)) != queueOf(next) ||
         walker.numbers[index] != std::min(counts.sends, counts.receives))
    ++index;
  return index;
}

std::vector<uint32_t> Walk::run() {
  while (!ready.empty()) {
    const uint32_t role = ready.back();
    ready.pop_back();
    while (walkers[role].at < walkers[role].steps.size() && advance(role)) {
    }
  }
  std::vector<uint32_t> stuck;
  for (uint32_t role = 0; role < walkers.size(); ++role)
    if (walkers[role].at < walkers[role].steps.size())
      stuck.push_back(role);
  return stuck;
}

Status TimelineVerifier::verifyEnd() const {
  Walk walk(header.plan, timeline);
  const std::vector<uint32_t> stuck = walk.run();
  if (stuck.empty())
    return {};
  std::string text;
  constexpr size_t limit = 8;
  for (size_t i = 0; i < stuck.size() && i < limit; ++i) {
    const uint32_t role = stuck[i];
    const Walker &walker = walk.walker(role);
    const TimelineStep &step = walker.steps[walker.at];
    const uint32_t awaited = walk.awaited(role);
    const plan::Action &waited = action(role, awaited);
    const bool sends = waited.kind() == plan::ActionKind::Send;
    const plan::Message &message = *timeline.messages()->Get(waited.index());
    std::string where = "at its end";
    if (step.during < walker.numbers.size()) {
      const plan::Action &next = action(role, step.during);
      where = fmt::format("before action {} ({}{})", step.during,
                          describe(next), lineOf(next));
    }
    text += fmt::format(
        "; role {} waits {} until role {} {} {} (action {}, queue {}{})", role,
        where, sends ? message.destination_role() : message.source_role(),
        sends ? "receives" : "sends", describe(waited), awaited,
        message.queue(), lineOf(waited));
  }
  return invalidArgument("the timeline deadlocks" + text +
                         (stuck.size() > limit ? "; ..." : ""));
}

Status TimelineVerifier::verify() {
  if (entry.instructions()->size() != 0)
    return invalidArgument(
        fmt::format("has a timeline and {} instructions of its own",
                    entry.instructions()->size()));
  WEFT_RETURN_IF_ERROR(verifyBindings("input", *entry.inputs()));
  WEFT_RETURN_IF_ERROR(verifyBindings("output", *entry.outputs()));
  WEFT_RETURN_IF_ERROR(verifyBuffers());
  WEFT_RETURN_IF_ERROR(verifyGroup());
  WEFT_RETURN_IF_ERROR(verifyRows());
  WEFT_RETURN_IF_ERROR(verifyQueues());
  WEFT_RETURN_IF_ERROR(verifyEnd());
  WEFT_RETURN_IF_ERROR(verifyFlow(header, entry));
  return verifyDeferred(header, entry);
}

Status verifyTimeline(const VerifiedHeader &header, const plan::Entry &entry) {
  return TimelineVerifier(header, entry).verify();
}

} // namespace weft::runtime
