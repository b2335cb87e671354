//===- Segments.cpp - What ranks execute in a call of an entry ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Segments.h"

#include <map>

namespace weft {

/// A segment of @step is called "step.2F" or, once a step, "step.2U1".
static std::optional<timeline::Action> actionOf(const plan::Entry &entry,
                                                const plan::Entry &segment) {
  std::string name = segment.name()->str(), prefix = entry.name()->str() + ".";
  if (!name.starts_with(prefix))
    return std::nullopt;
  name.erase(0, prefix.size());
  for (const std::string &text : {name, name + "0"}) {
    timeline::ParsedTable parsed = timeline::parseCsv(text, "");
    if (parsed.errors.empty() && parsed.table.ranks() == 1 &&
        parsed.table.rows[0].size() == 1)
      return parsed.table.rows[0][0];
  }
  return std::nullopt;
}

std::vector<Segment> findSegments(const plan::Plan &plan,
                                  const plan::Entry &entry) {
  if (!entry.timeline())
    return {{&entry, 1, std::nullopt}};
  std::vector<Segment> segments;
  std::map<const plan::Entry *, size_t> numbers;
  for (const plan::TimelineRow *row : *entry.timeline()->rows())
    for (const plan::Action *action : *row->actions()) {
      if (action->kind() != plan::ActionKind::Run)
        continue;
      const plan::Entry *run = plan.entries()->Get(action->index());
      auto [number, isNew] = numbers.try_emplace(run, segments.size());
      if (isNew)
        segments.push_back({run, 0, actionOf(entry, *run)});
      ++segments[number->second].times;
    }
  return segments;
}

std::vector<const plan::State *> statesOf(const plan::Plan &plan,
                                          const plan::Timeline &timeline,
                                          const plan::Action &action,
                                          uint32_t role) {
  std::vector<const plan::State *> states;
  if (action.kind() != plan::ActionKind::Run) {
    const plan::Message &message = *timeline.messages()->Get(action.index());
    for (uint32_t state : action.kind() == plan::ActionKind::Send
                              ? *message.source_states()
                              : *message.destination_states())
      states.push_back(plan.states()->Get(state));
    return states;
  }
  std::map<uint64_t, const plan::State *> byOffset;
  for (const plan::State *state : *plan.states())
    if (state->role() == role)
      byOffset[state->offset()] = state;
  for (const plan::Buffer *buffer :
       *plan.entries()->Get(action.index())->buffers())
    if (buffer->kind() == plan::BufferKind::State)
      if (auto found = byOffset.find(buffer->offset());
          found != byOffset.end() && !found->second->counts())
        states.push_back(found->second);
  return states;
}

std::vector<uint64_t> countExecutions(const plan::Entry &entry) {
  struct Loop {
    uint64_t times, end;
  };
  std::vector<Loop> loops;
  std::vector<uint64_t> times;
  for (uint32_t i = 0; i < entry.instructions()->size(); ++i) {
    while (!loops.empty() && loops.back().end <= i)
      loops.pop_back();
    times.push_back(loops.empty() ? 1 : loops.back().times);
    if (const auto *repeat =
            entry.instructions()->Get(i)->operation_as_Repeat())
      loops.push_back({times.back() * repeat->count(),
                       uint64_t(i) + 1 + repeat->instructions()});
  }
  return times;
}

} // namespace weft
