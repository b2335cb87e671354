//===- Extent.cpp - Stages and micro-batches of a table -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Extent.h"

#include <algorithm>

namespace weft::timeline {

Extent extentOf(const Table &table) {
  Extent extent;
  for (int32_t rank = 0; rank < table.ranks(); ++rank)
    for (const Action &action : table.rows[rank]) {
      extent.stages = std::max(extent.stages, action.stage + 1);
      if (!isOnce(action.kind))
        extent.microbatches =
            std::max(extent.microbatches, action.microbatch + 1);
      extent.splitsBackward |= action.kind == ActionKind::WeightGradient;
      extent.placement.resize(extent.stages, -1);
      extent.placement[action.stage] = rank;
    }
  return extent;
}

Table computeOnly(const Table &table) {
  Table compute = table;
  for (Row &row : compute.rows)
    std::erase_if(row,
                  [](const Action &action) { return !isCompute(action.kind); });
  return compute;
}

Table mergeBackward(const Table &table) {
  Table merged;
  for (const Row &row : table.rows) {
    Row &out = merged.rows.emplace_back();
    for (const Action &action : row) {
      const Action input = {action.stage, ActionKind::InputGradient,
                            action.microbatch};
      const bool isPaired = out.size() > 1 && out[out.size() - 2].overlapsNext;
      if (action.kind == ActionKind::WeightGradient && !out.empty() &&
          out.back() == input && !isPaired)
        out.back().kind = ActionKind::Backward;
      else
        out.push_back(action);
    }
  }
  return merged;
}

} // namespace weft::timeline
