//===- CollectiveQueues.cpp - Which collectives run side by side ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/CollectiveQueues.h"

#include <algorithm>

namespace weft::runtime {

/// Of the collectives of an entry, by their ids.
static std::vector<uint8_t> queuesOf(const plan::Entry &entry) {
  std::vector<uint8_t> queues;
  for (const plan::Instruction *instruction : *entry.instructions())
    if (const auto *start = instruction->operation_as_CollectiveStart())
      queues.push_back(start->queue());
  return queues;
}

CollectiveQueues::CollectiveQueues(size_t groups)
    : uses(groups, {true, false}) {}

CollectiveQueues::CollectiveQueues(const plan::Plan &plan, bool serialize)
    : CollectiveQueues(plan.groups()->size()) {
  if (serialize)
    return;
  for (const plan::Entry *entry : *plan.entries()) {
    entries.push_back(queuesOf(*entry));
    if (std::ranges::find(entries.back(), 1) != entries.back().end())
      queues = 2;
  }
  if (queues == 1)
    return;
  std::vector<std::array<bool, maxQueues>> found(uses.size());
  for (size_t i = 0; i < entries.size(); ++i)
    for (const plan::Instruction *instruction :
         *plan.entries()->Get(i)->instructions())
      if (const auto *start = instruction->operation_as_CollectiveStart())
        found[start->group()][entries[i][start->id()]] = true;
  for (size_t group = 0; group < uses.size(); ++group)
    if (found[group][0] || found[group][1])
      uses[group] = found[group];
}

} // namespace weft::runtime
