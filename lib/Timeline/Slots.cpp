//===- Slots.cpp - Memory of micro-batches in flight ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Slots.h"

#include <map>
#include <set>

namespace weft::timeline {

Slots assignSlots(const Row &row, int32_t stages) {
  Slots slots;
  slots.counts.resize(stages, 0);
  std::vector<std::set<int32_t>> free(stages);
  std::vector<std::map<int32_t, int32_t>> taken(stages);
  for (const Action &action : row) {
    if (!isCompute(action.kind)) {
      slots.ofAction.push_back(-1);
      continue;
    }
    const int32_t stage = action.stage, microbatch = action.microbatch;
    if (action.kind == ActionKind::Forward) {
      if (free[stage].empty())
        free[stage].insert(slots.counts[stage]++);
      taken[stage][microbatch] =
          free[stage].extract(free[stage].begin()).value();
    }
    const auto slot = taken[stage].find(microbatch);
    slots.ofAction.push_back(slot->second);
    if (action.kind == ActionKind::Backward ||
        action.kind == ActionKind::WeightGradient) {
      free[stage].insert(slot->second);
      taken[stage].erase(slot);
    }
  }
  return slots;
}

} // namespace weft::timeline
