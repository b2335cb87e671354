//===- CollectiveQueues.cpp - Which collectives run side by side ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/CollectiveQueues.h"

#include "weft/runtime/VisitOperation.h"

#include <algorithm>

namespace weft::runtime {

/// For each collective whether one that starts later is waited for earlier:
/// whether, when its own wait comes, a later one has had its wait.
static std::vector<uint8_t> overtaken(const plan::Entry &entry) {
  std::vector<uint8_t> queues;
  // When they start: behind the last execution of an instruction of a loop, as
  // some do, is between it and the next one.
  std::vector<double> starts;
  double latestWaited = -1;
  for (uint32_t index = 0; index < entry.instructions()->size(); ++index)
    visitOperation(
        *entry.instructions()->Get(index),
        [&](const plan::CollectiveStart &start) {
          queues.push_back(0);
          starts.push_back(start.behind() ? *start.behind() + 0.5 : index);
        },
        [&](const plan::CollectiveWait &wait) {
          const double began = starts[wait.id()];
          queues[wait.id()] = latestWaited > began;
          latestWaited = std::max(latestWaited, began);
        },
        [](const Computation auto &) {}, [](const plan::Repeat &) {});
  return queues;
}

CollectiveQueues::CollectiveQueues(size_t groups)
    : uses(groups, {true, false}) {}

CollectiveQueues::CollectiveQueues(const plan::Plan &plan, bool serialize)
    : CollectiveQueues(plan.groups()->size()) {
  if (serialize)
    return;
  for (const plan::Entry *entry : *plan.entries()) {
    entries.push_back(overtaken(*entry));
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
