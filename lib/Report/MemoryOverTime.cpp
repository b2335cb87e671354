//===- MemoryOverTime.cpp - Memory of an entry by instruction -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Report/MemoryOverTime.h"

#include "Holdings.h"
#include "Segments.h"

#include <algorithm>
#include <map>
#include <set>

namespace weft {

size_t indexOf(plan::Purpose purpose) {
  return std::min(static_cast<size_t>(purpose), numPurposes - 1);
}

std::vector<PurposeBytes> memoryOverTime(const plan::Entry &entry) {
  const uint64_t end = entry.instructions()->size();
  std::vector<PurposeBytes> bytes(end + 1);
  for (const Holding &holding : findHoldings(entry)) {
    const size_t purpose = indexOf(holding.content->purpose());
    bytes[std::min(holding.first, end)][purpose] += holding.buffer->bytes();
    if (holding.last < end)
      bytes[holding.last + 1][purpose] -= holding.buffer->bytes();
  }
  for (size_t time = 1; time < bytes.size(); ++time)
    for (size_t purpose = 0; purpose < numPurposes; ++purpose)
      bytes[time][purpose] += bytes[time - 1][purpose];
  return bytes;
}

/// What runs, sends and receives once a step is of no micro-batch.
static bool isOnce(const plan::Plan &plan, const plan::Timeline &timeline,
                   const std::set<const plan::Entry *> &levels,
                   const plan::Action &action) {
  if (action.kind() == plan::ActionKind::Run)
    return levels.contains(plan.entries()->Get(action.index()));
  const plan::MessageKind kind =
      timeline.messages()->Get(action.index())->kind();
  return kind == plan::MessageKind::Prologue ||
         kind == plan::MessageKind::Update;
}

std::vector<SlotUse> slotUsesOf(const plan::Plan &plan,
                                const plan::Entry &entry, uint32_t role) {
  const plan::Timeline &timeline = *entry.timeline();
  std::set<const plan::Entry *> levels;
  for (const Segment &segment : findSegments(plan, entry))
    if (segment.action && !timeline::isOfMicrobatch(segment.action->kind))
      levels.insert(segment.entry);
  std::vector<SlotUse> uses;
  std::map<std::pair<const plan::State *, uint32_t>, size_t> numbers;
  const auto &row = *timeline.rows()->Get(role)->actions();
  for (uint32_t column = 0; column < row.size(); ++column) {
    const plan::Action &action = *row.Get(column);
    if (isOnce(plan, timeline, levels, action))
      continue;
    for (const plan::State *state : statesOf(plan, timeline, action, role)) {
      if (state->slots() == 1)
        continue;
      const auto [number, isNew] =
          numbers.try_emplace({state, action.microbatch()}, uses.size());
      if (isNew)
        uses.push_back({state, action.microbatch(), column, column});
      uses[number->second].last = column;
    }
  }
  return uses;
}

} // namespace weft
