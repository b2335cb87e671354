//===- TimelineOrder.cpp - What a rank does in a timeline -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/TimelineOrder.h"

#include "plan/Text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

namespace weft::runtime {
namespace {

/// What is in flight from or to a slot of a state: actions that read it and the
/// one that writes it.
struct Slot {
  std::vector<uint32_t> readers;
  std::optional<uint32_t> writer;
};

/// States that a segment reads and writes, of those that something in flight
/// uses.
struct Accesses {
  std::vector<uint32_t> reads;
  std::vector<uint32_t> writes;
};

class Expander {
public:
  Expander(const plan::Plan &plan, const plan::Timeline &timeline,
           uint32_t role);
  std::vector<TimelineStep> expand();

private:
  const Accesses &accessesOf(uint32_t segment);
  Slot &slot(uint32_t state, uint32_t microbatch);
  bool isDeferred(const plan::Action &action) const {
    return action.kind() == plan::ActionKind::Run &&
           plan.entries()->Get(action.index())->deferred_from();
  }
  void addStates(const plan::Entry &deferred, uint32_t role);
  void step(const plan::Action &action);
  void wait(uint32_t action);
  void waitForWriter(Slot &slot);
  void waitForAll(Slot &slot);
  void run(const plan::Action &action);

  const plan::Plan &plan;
  const plan::Timeline &timeline;
  const flatbuffers::Vector<const plan::Action *> &actions;
  /// By name, the states of the role that messages and segments in flight use.
  std::unordered_map<std::string_view, uint32_t> moved;
  std::map<uint32_t, Accesses> segments;
  /// By state and number of the slot.
  std::unordered_map<uint64_t, Slot> slots;
  std::vector<bool> isInFlight;
  uint32_t current = 0;
  std::vector<TimelineStep> steps;
};

} // namespace

Expander::Expander(const plan::Plan &plan, const plan::Timeline &timeline,
                   uint32_t role)
    : plan(plan), timeline(timeline),
      actions(*timeline.rows()->Get(role)->actions()),
      isInFlight(actions.size()) {
  const auto add = [&](const flatbuffers::Vector<uint32_t> &states) {
    for (uint32_t state : states)
      moved.emplace(view(plan.states()->Get(state)->name()), state);
  };
  for (const plan::Message *message : *timeline.messages()) {
    if (message->source_role() == role)
      add(*message->source_states());
    if (message->destination_role() == role)
      add(*message->destination_states());
  }
  for (const plan::Action *action : actions)
    if (isDeferred(*action))
      addStates(*plan.entries()->Get(action->index()), role);
}

void Expander::addStates(const plan::Entry &deferred, uint32_t role) {
  std::unordered_map<std::string_view, uint32_t> states;
  for (uint32_t i = 0; i < plan.states()->size(); ++i)
    if (isOf(plan.states()->Get(i)->role(), role))
      states.emplace(view(plan.states()->Get(i)->name()), i);
  for (const auto *bindings : {deferred.inputs(), deferred.outputs()})
    for (const plan::Binding *binding : *bindings)
      if (const auto state = states.find(view(binding->name()));
          state != states.end())
        moved.insert(*state);
}

const Accesses &Expander::accessesOf(uint32_t segment) {
  const auto [it, isNew] = segments.try_emplace(segment);
  if (!isNew)
    return it->second;
  const auto collect = [&](const auto &bindings, std::vector<uint32_t> &into) {
    for (const plan::Binding *binding : bindings)
      if (const auto found = moved.find(view(binding->name()));
          found != moved.end())
        into.push_back(found->second);
  };
  const plan::Entry &entry = *plan.entries()->Get(segment);
  collect(*entry.inputs(), it->second.reads);
  collect(*entry.outputs(), it->second.writes);
  return it->second;
}

Slot &Expander::slot(uint32_t state, uint32_t microbatch) {
  const uint32_t number = microbatch % plan.states()->Get(state)->slots();
  return slots[uint64_t(state) << 32 | number];
}

void Expander::wait(uint32_t action) {
  if (!isInFlight[action])
    return;
  isInFlight[action] = false;
  steps.push_back({TimelineStep::Kind::Wait, action, current});
}

void Expander::waitForWriter(Slot &slot) {
  if (slot.writer)
    wait(*slot.writer);
  slot.writer.reset();
}

void Expander::waitForAll(Slot &slot) {
  waitForWriter(slot);
  for (uint32_t reader : slot.readers)
    wait(reader);
  slot.readers.clear();
}

void Expander::run(const plan::Action &action) {
  const Accesses &accesses = accessesOf(action.index());
  for (uint32_t state : accesses.reads)
    waitForWriter(slot(state, action.microbatch()));
  for (uint32_t state : accesses.writes)
    waitForAll(slot(state, action.microbatch()));
  steps.push_back({TimelineStep::Kind::Run, current, current});
  if (!isDeferred(action))
    return;
  for (uint32_t state : accesses.reads)
    slot(state, action.microbatch()).readers.push_back(current);
  for (uint32_t state : accesses.writes)
    slot(state, action.microbatch()).writer = current;
  isInFlight[current] = true;
}

void Expander::step(const plan::Action &action) {
  if (action.kind() == plan::ActionKind::Run)
    return run(action);
  const plan::Message &message = *timeline.messages()->Get(action.index());
  if (action.kind() == plan::ActionKind::Send)
    for (uint32_t state : *message.source_states()) {
      Slot &source = slot(state, action.microbatch());
      waitForWriter(source);
      source.readers.push_back(current);
    }
  else
    for (uint32_t state : *message.destination_states()) {
      Slot &destination = slot(state, action.microbatch());
      waitForAll(destination);
      destination.writer = current;
    }
  isInFlight[current] = true;
  steps.push_back({TimelineStep::Kind::Start, current, current});
}

std::vector<TimelineStep> Expander::expand() {
  for (current = 0; current < actions.size(); ++current)
    step(*actions.Get(current));
  for (uint32_t action = 0; action < actions.size(); ++action)
    wait(action);
  return std::move(steps);
}

std::vector<TimelineStep> timelineSteps(const plan::Plan &plan,
                                        const plan::Timeline &timeline,
                                        uint32_t role) {
  return Expander(plan, timeline, role).expand();
}

PipelineQueues::PipelineQueues(const plan::Plan &plan) {
  for (const plan::Entry *entry : *plan.entries()) {
    std::vector<size_t> &found = numbers.emplace_back();
    if (const plan::Timeline *timeline = entry->timeline())
      add(*timeline, found);
  }
}

void PipelineQueues::add(const plan::Timeline &timeline,
                         std::vector<size_t> &found) {
  // By queue of the timeline the messages that are sent in it.
  std::map<uint32_t, Queue> own;
  for (const plan::Message *message : *timeline.messages())
    own[message->queue()] = {message->source_role(),
                             message->destination_role()};
  for (const plan::TimelineRow *row : *timeline.rows())
    for (const plan::Action *action : *row->actions())
      if (action->kind() == plan::ActionKind::Send)
        ++own[timeline.messages()->Get(action->index())->queue()].capacity;
  for (const auto &[number, queue] : own) {
    size_t at = 0;
    while (at < queues.size() && (queues[at].source != queue.source ||
                                  queues[at].destination != queue.destination ||
                                  std::ranges::count(found, at) != 0))
      ++at;
    if (at == queues.size())
      queues.push_back(queue);
    queues[at].capacity = std::max(queues[at].capacity, queue.capacity);
    found.resize(number + 1, SIZE_MAX);
    found[number] = at;
  }
}

std::vector<std::pair<int, int>> rankPairs(const PipelineQueues::Queue &queue,
                                           const Roles &roles, int64_t ranks) {
  std::vector<std::pair<int, int>> pairs;
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (roles.of(rank) == queue.source)
      pairs.emplace_back(static_cast<int>(rank), static_cast<int>(roles.rankIn(
                                                     rank, queue.destination)));
  return pairs;
}

} // namespace weft::runtime
