//===- VerifyFlow.cpp - What the actions of a timeline read ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are permutations: whoever damages one must not get other numbers out of
// it. So everything is done exactly once, and each action reads the one value
// that the plan can mean:
//
// - a state that each micro-batch has: what its one writer wrote for the
//   micro-batch, which nothing has been written over;
// - a state that has a value before the call (an argument): runs read that
//   value, sends the one that the call leaves;
// - any other state: what is there once all have written it. First comes who
//   writes without reading it, then who adds to it: micro-batches in ascending
//   order, then what is done once a step, in the order of the plan's entries.
//
//   actions of a role, 2 micro-batches      state "sum"
//   0 run begin                             written
//   1 run backward of 0                     updated
//   2 run backward of 1                     updated; not before 1
//   3 run update                            read; not before 2
//
// Rows are walked in their order alone: timelineSteps() lets every action wait
// for the transfers whose slots it touches.
//
//===----------------------------------------------------------------------===//

#include "plan/PlanVerifier.h"
#include "plan/Text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace weft::runtime {
namespace {

/// A run or a message, and when it is done.
struct Use {
  /// Numbers of states of the role. `updates` are read and written.
  std::vector<uint32_t> reads, updates, writes;
  /// Once a step, not for each micro-batch.
  bool isOnce = false;
  bool sends = false;
  /// In what order runs update a state.
  uint32_t entry = 0;
  /// Micro-batches and the actions that are for them.
  std::vector<std::pair<uint32_t, uint32_t>> actions;
};

/// A state of the role under test.
struct Flow {
  const plan::State *state;
  /// Has a value before the call.
  bool isGiven = false;
  bool isOfMicrobatch = false;
  const Use *writer = nullptr;
  /// Its first slot in `held`, and how many are used.
  size_t firstSlot = 0;
  uint32_t slots = 1;
  /// Of one that is not of micro-batches: the actions that write it.
  uint32_t writes = 0;
  uint32_t written = 0;
  uint32_t lastWrite = 0;
  std::tuple<bool, uint32_t, uint32_t> lastUpdate = {};
};

/// What is in a slot.
struct Held {
  static constexpr uint32_t nothing = UINT32_MAX;
  uint32_t microbatch = nothing;
  uint32_t action = 0;
};

/// Verifies the row of one role.
class FlowVerifier {
public:
  FlowVerifier(const VerifiedHeader &header, const plan::Entry &entry,
               uint32_t role)
      : header(header), entry(entry), timeline(*entry.timeline()), role(role),
        row(*timeline.rows()->Get(role)->actions()) {}

  Status verify();

private:
  using Key = std::pair<plan::ActionKind, uint32_t>;

  void addStates();
  /// The state that a value of the entry lies in, if the role has it.
  Flow *flowOf(const plan::Binding &binding);
  uint32_t numberOf(const plan::State *state) const {
    return numbers.at(state);
  }
  Use findStates(const plan::Action &action) const;
  void addUses();
  Status verifyTimes(const Key &key, Use &use) const;
  Status verifyMessages() const;
  Status classify();
  Status verifyKinds() const;
  void layOutSlots();
  Status walk();
  Status read(uint32_t action, const Use &use, uint32_t number) const;
  Status write(uint32_t action, const Use &use, uint32_t number, bool updates);
  Status verifyOutputs();
  Status verifyOutput(const Flow &flow) const;

  Held &held(const Flow &flow, uint32_t microbatch) {
    return slots[flow.firstSlot + microbatch % flow.slots];
  }
  const Held &held(const Flow &flow, uint32_t microbatch) const {
    return slots[flow.firstSlot + microbatch % flow.slots];
  }
  /// Whether micro-batches can be told from what is done once a step.
  bool hasMicrobatches() const { return timeline.microbatches() > 1; }

  std::string describe(Key key, uint32_t microbatch) const;
  /// `role 0 action 3 (run "forward" of micro-batch 1)`.
  std::string describe(uint32_t action) const;
  std::string name(const Flow &flow) const {
    return fmt::format("state \"{}\"", escaped(view(flow.state->name())));
  }
  /// The first action that writes a state, from `begin` on.
  std::optional<uint32_t> findWrite(uint32_t state, uint32_t begin) const;
  /// The action that writes a state for a micro-batch.
  std::string findWriter(const Flow &flow, uint32_t microbatch) const;

  const VerifiedHeader &header;
  const plan::Entry &entry;
  const plan::Timeline &timeline;
  const uint32_t role;
  const flatbuffers::Vector<const plan::Action *> &row;
  std::vector<Flow> flows;
  std::unordered_map<const plan::State *, uint32_t> numbers;
  std::map<uint64_t, uint32_t> byOffset;
  std::map<Key, Use> uses;
  /// By action.
  std::vector<const Use *> useOf;
  std::vector<Held> slots;
};

} // namespace

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

std::string FlowVerifier::describe(Key key, uint32_t microbatch) const {
  const auto [kind, index] = key;
  if (kind == plan::ActionKind::Run)
    return fmt::format("run \"{}\" of micro-batch {}",
                       escaped(view(header.plan.entries()->Get(index)->name())),
                       microbatch);
  return fmt::format("{} message {} \"{}\" of micro-batch {}",
                     kind == plan::ActionKind::Send ? "send" : "receive", index,
                     escaped(view(timeline.messages()->Get(index)->label())),
                     microbatch);
}

std::string FlowVerifier::describe(uint32_t action) const {
  const plan::Action &each = *row.Get(action);
  return fmt::format("role {} action {} ({})", role, action,
                     describe({each.kind(), each.index()}, each.microbatch()));
}

std::optional<uint32_t> FlowVerifier::findWrite(uint32_t state,
                                                uint32_t begin) const {
  for (uint32_t action = begin; action < row.size(); ++action)
    if (std::ranges::count(useOf[action]->writes, state) != 0 ||
        std::ranges::count(useOf[action]->updates, state) != 0)
      return action;
  return std::nullopt;
}

std::string FlowVerifier::findWriter(const Flow &flow,
                                     uint32_t microbatch) const {
  return describe(flow.writer->actions[microbatch].second);
}

//===----------------------------------------------------------------------===//
// States, and who touches them
//===----------------------------------------------------------------------===//

/// Inputs and outputs lie in states, which need not have their names.
Flow *FlowVerifier::flowOf(const plan::Binding &binding) {
  const std::optional<uint32_t> index = bufferOf(entry, binding, role);
  if (!index)
    return nullptr;
  const plan::Buffer &buffer = *entry.buffers()->Get(*index);
  const auto behind = byOffset.upper_bound(buffer.offset());
  return buffer.bytes() == 0 || behind == byOffset.begin()
             ? nullptr
             : &flows[std::prev(behind)->second];
}

void FlowVerifier::addStates() {
  for (const plan::State *state : *header.plan.states()) {
    if (!isOf(state->role(), role))
      continue;
    const auto number = static_cast<uint32_t>(flows.size());
    numbers.emplace(state, number);
    if (spanOf(*state) != 0)
      byOffset.emplace(state->offset(), number);
    flows.push_back({.state = state, .isGiven = !state->internal()});
  }
  for (const plan::Binding *input : *entry.inputs())
    if (Flow *flow = flowOf(*input))
      flow->isGiven = true;
}

Use FlowVerifier::findStates(const plan::Action &action) const {
  Use use;
  if (action.kind() != plan::ActionKind::Run) {
    const plan::Message &message = *timeline.messages()->Get(action.index());
    use.sends = action.kind() == plan::ActionKind::Send;
    use.isOnce = message.kind() != plan::MessageKind::Forward &&
                 message.kind() != plan::MessageKind::Backward;
    for (uint32_t state :
         use.sends ? *message.source_states() : *message.destination_states())
      (use.sends ? use.reads : use.writes)
          .push_back(numberOf(header.plan.states()->Get(state)));
    return use;
  }
  use.entry = action.index();
  const plan::Entry &segment = *header.plan.entries()->Get(action.index());
  // Whatever else a segment binds is a constant.
  const auto collect = [&](const auto &bindings) {
    std::vector<uint32_t> found;
    for (const plan::Binding *binding : bindings)
      if (const plan::State *state =
              header.states.find(view(binding->name()), role))
        found.push_back(numberOf(state));
    std::ranges::sort(found);
    return found;
  };
  const std::vector<uint32_t> in = collect(*segment.inputs()),
                              out = collect(*segment.outputs());
  std::ranges::set_difference(in, out, std::back_inserter(use.reads));
  std::ranges::set_intersection(in, out, std::back_inserter(use.updates));
  std::ranges::set_difference(out, in, std::back_inserter(use.writes));
  return use;
}

void FlowVerifier::addUses() {
  for (uint32_t i = 0; i < row.size(); ++i) {
    const plan::Action &action = *row.Get(i);
    const auto [it, isNew] =
        uses.try_emplace({action.kind(), action.index()}, Use());
    if (isNew)
      it->second = findStates(action);
    it->second.actions.emplace_back(action.microbatch(), i);
    useOf.push_back(&it->second);
  }
}

//===----------------------------------------------------------------------===//
// Everything is done exactly once
//===----------------------------------------------------------------------===//

Status FlowVerifier::verifyTimes(const Key &key, Use &use) const {
  const bool isRun = key.first == plan::ActionKind::Run;
  std::ranges::sort(use.actions);
  if (isRun)
    use.isOnce = hasMicrobatches() && use.actions.size() == 1;
  const uint32_t times = use.isOnce ? 1 : timeline.microbatches();
  const std::string must =
      isRun ? fmt::format("a segment runs once for each of the {} "
                          "micro-batches, or once a step, for micro-batch 0",
                          timeline.microbatches())
      : use.isOnce
          ? "it moves what is there once a step, for micro-batch 0"
          : fmt::format("it moves a value of each of the {} micro-batches",
                        timeline.microbatches());
  for (uint32_t i = 0; i < use.actions.size(); ++i) {
    const auto [microbatch, action] = use.actions[i];
    if (i > 0 && microbatch == use.actions[i - 1].first)
      return invalidArgument(fmt::format("{} repeats action {}; {}",
                                         describe(action),
                                         use.actions[i - 1].second, must));
    if (microbatch != i)
      return invalidArgument(
          fmt::format("role {} has no {}; {}", role, describe(key, i), must));
    if (i >= times)
      return invalidArgument(
          fmt::format("{} is one too many; {}", describe(action), must));
  }
  if (use.actions.size() < times)
    return invalidArgument(
        fmt::format("role {} has no {}; {}", role,
                    describe(key, uint32_t(use.actions.size())), must));
  return {};
}

Status FlowVerifier::verifyMessages() const {
  for (uint32_t i = 0; i < timeline.messages()->size(); ++i)
    if (timeline.messages()->Get(i)->source_role() == role &&
        !uses.contains({plan::ActionKind::Send, i}))
      return invalidArgument(fmt::format(
          "role {} has no {}", role, describe({plan::ActionKind::Send, i}, 0)));
  return {};
}

//===----------------------------------------------------------------------===//
// What each micro-batch has, and what there is once
//===----------------------------------------------------------------------===//

Status FlowVerifier::classify() {
  std::vector<bool> isUpdated(flows.size());
  for (const auto &[key, use] : uses)
    for (uint32_t state : use.updates)
      isUpdated[state] = true;
  for (auto &[key, use] : uses) {
    const bool moves = key.first != plan::ActionKind::Run;
    for (const auto *list : {&use.reads, &use.updates, &use.writes})
      for (uint32_t state : *list) {
        Flow &flow = flows[state];
        const bool writes = list != &use.reads;
        if (writes && flow.state->counts())
          return invalidArgument(
              fmt::format("{} writes {}, which counts micro-batches",
                          describe(use.actions[0].second), name(flow)));
        flow.writes += writes ? uint32_t(use.actions.size()) : 0;
        if (hasMicrobatches() &&
            (flow.state->slots() != 1 || flow.state->counts() ||
             (!use.isOnce && !isUpdated[state] &&
              (list == &use.writes || moves))))
          flow.isOfMicrobatch = true;
      }
  }
  for (auto &[key, use] : uses)
    for (uint32_t state : use.writes) {
      Flow &flow = flows[state];
      if (flow.isOfMicrobatch && flow.writer)
        return invalidArgument(fmt::format(
            "{} writes {}, as {} does; each micro-batch must have one value",
            describe(use.actions[0].second), name(flow),
            describe(flow.writer->actions[0].second)));
      flow.writer = &use;
    }
  return verifyKinds();
}

Status FlowVerifier::verifyKinds() const {
  for (const auto &[key, use] : uses)
    for (const auto *list : {&use.reads, &use.updates, &use.writes})
      for (uint32_t state : *list) {
        const Flow &flow = flows[state];
        const uint32_t action = use.actions[0].second;
        if (flow.isOfMicrobatch && use.isOnce)
          return invalidArgument(fmt::format(
              "{} is done once a step and uses {}, which each micro-batch has; "
              "it must be done for each of the {}",
              describe(action), name(flow), timeline.microbatches()));
        if (flow.isOfMicrobatch && list == &use.updates)
          return invalidArgument(fmt::format(
              "{} updates {}, which has {} slots; what one micro-batch leaves "
              "for the next must have 1",
              describe(action), name(flow), flow.state->slots()));
        if (flow.state->counts() &&
            flow.state->slots() < timeline.microbatches())
          return invalidArgument(fmt::format(
              "{} reads {}, which counts {} micro-batches; there are {}",
              describe(action), name(flow), flow.state->slots(),
              timeline.microbatches()));
      }
  return {};
}

/// Slots behind the last micro-batch are not used.
void FlowVerifier::layOutSlots() {
  size_t size = 0;
  for (Flow &flow : flows) {
    if (!flow.isOfMicrobatch || flow.writes == 0)
      continue;
    flow.firstSlot = size;
    flow.slots = std::min(flow.state->slots(), timeline.microbatches());
    size += flow.slots;
  }
  slots.resize(size);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

Status FlowVerifier::read(uint32_t action, const Use &use,
                          uint32_t number) const {
  const Flow &flow = flows[number];
  if (flow.state->counts())
    return {};
  if (flow.writes == 0)
    return flow.isGiven ? Status()
                        : invalidArgument(fmt::format(
                              "{} reads {}, which no action of the role writes",
                              describe(action), name(flow)));
  if (flow.isOfMicrobatch) {
    const uint32_t microbatch = row.Get(action)->microbatch();
    const Held &found = held(flow, microbatch);
    if (found.microbatch == microbatch)
      return {};
    const std::string writer = findWriter(flow, microbatch);
    if (found.microbatch == Held::nothing)
      return invalidArgument(
          fmt::format("{} reads {} before it is written; must come behind {}",
                      describe(action), name(flow), writer));
    return invalidArgument(fmt::format(
        "{} reads {} of micro-batch {}, which {} wrote; must come behind {}, "
        "with nothing written to the slot in between (it has {})",
        describe(action), name(flow), found.microbatch, describe(found.action),
        writer, flow.state->slots()));
  }
  const bool readsOld = flow.isGiven && !use.sends;
  if (readsOld && flow.written > 0)
    return invalidArgument(fmt::format(
        "{} reads the value of {} before the call; must come before {}, which "
        "writes another",
        describe(action), name(flow), describe(flow.lastWrite)));
  if (!readsOld && flow.written < flow.writes)
    return invalidArgument(fmt::format(
        "{} reads {} before it is complete; must come behind {}",
        describe(action), name(flow), describe(*findWrite(number, action))));
  return {};
}

Status FlowVerifier::write(uint32_t action, const Use &use, uint32_t number,
                           bool updates) {
  Flow &flow = flows[number];
  const uint32_t microbatch = row.Get(action)->microbatch();
  if (flow.isOfMicrobatch) {
    held(flow, microbatch) = {microbatch, action};
    return {};
  }
  const std::tuple order(use.isOnce, microbatch, use.entry);
  if (!updates && flow.written > 0)
    return invalidArgument(fmt::format("{} writes {} anew; must come before {}",
                                       describe(action), name(flow),
                                       describe(flow.lastWrite)));
  if (updates && flow.written == 0 && !flow.isGiven)
    return invalidArgument(fmt::format("{} updates {} before it is written",
                                       describe(action), name(flow)));
  if (updates && flow.written > 0 && order < flow.lastUpdate)
    return invalidArgument(fmt::format(
        "{} updates {} behind {}; must come before it: micro-batches in "
        "ascending order, then what is done once a step",
        describe(action), name(flow), describe(flow.lastWrite)));
  ++flow.written;
  flow.lastWrite = action;
  if (updates)
    flow.lastUpdate = order;
  return {};
}

Status FlowVerifier::walk() {
  for (uint32_t action = 0; action < row.size(); ++action) {
    const Use &use = *useOf[action];
    for (uint32_t state : use.reads)
      WEFT_RETURN_IF_ERROR(read(action, use, state));
    for (uint32_t state : use.updates)
      WEFT_RETURN_IF_ERROR(write(action, use, state, true));
    for (uint32_t state : use.writes)
      WEFT_RETURN_IF_ERROR(write(action, use, state, false));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Status FlowVerifier::verifyOutput(const Flow &flow) const {
  if (flow.writes == 0 && !flow.isGiven)
    return invalidArgument(
        fmt::format("no action of role {} writes {}", role, name(flow)));
  if (flow.isOfMicrobatch && flow.writes != 0 &&
      flow.state->slots() < timeline.microbatches())
    return invalidArgument(fmt::format(
        "{} of role {} has {} slots, which do not keep the values of {} "
        "micro-batches",
        name(flow), role, flow.state->slots(), timeline.microbatches()));
  return {};
}

Status FlowVerifier::verifyOutputs() {
  for (const plan::Binding *output : *entry.outputs())
    if (const Flow *flow = flowOf(*output))
      WEFT_RETURN_IF_ERROR(verifyOutput(*flow).withContext(
          fmt::format("output \"{}\"", escaped(view(output->name())))));
  return {};
}

Status FlowVerifier::verify() {
  addStates();
  addUses();
  for (auto &[key, use] : uses)
    WEFT_RETURN_IF_ERROR(verifyTimes(key, use));
  WEFT_RETURN_IF_ERROR(verifyMessages());
  WEFT_RETURN_IF_ERROR(classify());
  layOutSlots();
  WEFT_RETURN_IF_ERROR(walk());
  return verifyOutputs();
}

Status verifyFlow(const VerifiedHeader &header, const plan::Entry &entry) {
  for (uint32_t role = 0; role < header.roles.count(); ++role)
    WEFT_RETURN_IF_ERROR(FlowVerifier(header, entry, role).verify());
  return {};
}

} // namespace weft::runtime
