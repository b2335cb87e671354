//===- ParameterActions.cpp - Gathers and reductions of a row -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/ParameterActions.h"

#include <algorithm>
#include <map>
#include <span>

namespace weft::timeline {

Row addUnshards(const Row &row, int32_t lookAhead) {
  // The next distinct stages from each action on, nearest first.
  std::vector<std::vector<int32_t>> upcoming(row.size());
  std::vector<int32_t> nearest;
  for (size_t i = row.size(); i-- > 0;) {
    std::erase(nearest, row[i].stage);
    nearest.insert(nearest.begin(), row[i].stage);
    nearest.resize(std::min(nearest.size(), size_t(lookAhead)));
    upcoming[i] = nearest;
  }

  Row result;
  std::vector<int32_t> gathered;
  const auto free = [&](auto isUnused) {
    for (int32_t stage : gathered)
      if (isUnused(stage))
        result.push_back({stage, ActionKind::Reshard});
    std::erase_if(gathered, isUnused);
  };
  for (size_t i = 0; i < row.size(); ++i) {
    // Nothing comes between the two of a pair that runs together.
    if (i == 0 || !row[i - 1].overlapsNext) {
      free([&](int32_t stage) {
        return std::ranges::find(upcoming[i], stage) == upcoming[i].end();
      });
      for (int32_t stage : upcoming[i]) {
        if (std::ranges::find(gathered, stage) != gathered.end())
          continue;
        result.push_back({stage, ActionKind::Unshard});
        gathered.push_back(stage);
      }
    }
    result.push_back(row[i]);
  }
  free([](int32_t) { return true; });
  return result;
}

Row addFirstGathers(const Row &row, const std::vector<int32_t> &stages) {
  Row result;
  for (const Action &action : row) {
    const Action gather = {action.stage, ActionKind::Unshard};
    if (std::ranges::count(stages, action.stage) > 0 &&
        std::ranges::count(result, gather) == 0)
      result.push_back(gather);
  }
  result.insert(result.end(), row.begin(), row.end());
  return result;
}

/// What gathers for a pass.
static GatheredPass gatherOf(const Action &action) {
  return {action.stage, action.kind == ActionKind::Forward
                            ? ActionKind::UnshardForward
                            : ActionKind::UnshardBackward};
}

Row addPassGathers(const Row &row, const std::vector<GatheredPass> &passes) {
  const auto isGathered = [&](const Action &action) {
    return isCompute(action.kind) &&
           action.kind != ActionKind::WeightGradient &&
           std::ranges::count(passes, gatherOf(action)) > 0;
  };
  Row result;
  // The one or, of a pair, two actions before `begin`.
  std::span<const Action> before;
  // Gathers for `actions` that can or, else, cannot stand before `before`.
  const auto gather = [&](std::span<const Action> actions, bool early) {
    for (const Action &action : actions)
      if (isGathered(action) &&
          early == (!before.empty() &&
                    std::ranges::none_of(before, [&](const Action &other) {
                      return isGathered(other) &&
                             gatherOf(other) == gatherOf(action);
                    })))
        result.push_back(
            {action.stage, gatherOf(action).second, action.microbatch});
  };
  for (size_t begin = 0; begin < row.size(); begin += before.size()) {
    const auto unitAt = [&](size_t at) {
      const std::span rest(row.begin() + int64_t(at), row.end());
      return rest.first(
          rest.empty() ? 0 : 1 + (rest[0].overlapsNext && rest.size() > 1));
    };
    const std::span<const Action> unit = unitAt(begin);
    gather(unit, /*early=*/false);
    before = unit;
    gather(unitAt(begin + unit.size()), /*early=*/true);
    result.insert(result.end(), unit.begin(), unit.end());
  }
  return result;
}

Row addGradientReductions(const Row &row, int32_t microbatches,
                          const std::optional<std::vector<int32_t>> &stages) {
  std::map<int32_t, int32_t> done;
  Row result;
  std::vector<int32_t> due;
  for (const Action &action : row) {
    result.push_back(action);
    if (action.kind == ActionKind::Backward ||
        action.kind == ActionKind::WeightGradient)
      if (++done[action.stage] == microbatches &&
          (!stages || std::ranges::count(*stages, action.stage) > 0))
        due.push_back(action.stage);
    if (action.overlapsNext)
      continue;
    for (int32_t stage : due)
      result.push_back({stage, ActionKind::ReduceGradient});
    due.clear();
  }
  return result;
}

} // namespace weft::timeline
