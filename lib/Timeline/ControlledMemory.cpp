//===- ControlledMemory.cpp - V-Half and V-Min ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generators.h"

#include "ListScheduler.h"

#include <algorithm>
#include <limits>

namespace weft::timeline {
namespace {

/// When the two forwards of the first micro-batch start in a rank, in units of
/// one action, on the way down and on the way up the V. The next micro-batch
/// follows after six units, the actions that a rank has for one: the building
/// block that Qi et al. ("Pipeline Parallelism with Controllable Memory", 2024)
/// repeat. The order of the forwards is all that is taken from there; the rest
/// is filled in by the list scheduler in the memory that they state.
struct BuildingBlock {
  int32_t down = 0, up = 0;
};

/// The forwards of a rank in the order in which the repeated block has them.
Row orderForwards(ScheduleSize size, int32_t rank, BuildingBlock block) {
  struct Start {
    int64_t time;
    Action action;
    auto operator<=>(const Start &) const = default;
  };
  std::vector<Start> starts;
  for (int32_t i = 0; i < size.microbatches; ++i) {
    const int64_t begin = 6 * int64_t(i);
    starts.push_back({begin + block.down, {rank, ActionKind::Forward, i}});
    starts.push_back({begin + block.up,
                      {2 * size.ranks - 1 - rank, ActionKind::Forward, i}});
  }
  std::ranges::sort(starts);
  Row row;
  for (const Start &start : starts)
    row.push_back(start.action);
  return row;
}

template <typename BlockOfRank>
Table repeat(ScheduleSize size, int32_t limit, BlockOfRank blockOf) {
  ListProblem problem;
  problem.placement = placementOf(Fold::V, size.ranks, 2);
  problem.microbatches = size.microbatches;
  Costs costs;
  costs.stages.resize(problem.placement.size());
  problem.costs = &costs;
  for (int32_t rank = 0; rank < size.ranks; ++rank)
    problem.forwards.push_back(orderForwards(size, rank, blockOf(rank)));
  // Which actions should go first depends on how the block divides the ranks.
  Table best;
  double shortest = std::numeric_limits<double>::infinity();
  for (auto prefer :
       {ListPolicy::Prefer::InputGradient, ListPolicy::Prefer::Forward}) {
    problem.policies.assign(size.ranks, {double(limit), prefer});
    std::optional<Table> table = scheduleList(problem);
    const double makespan = timeTable(*table, costs)->makespan;
    if (makespan < shortest) {
      shortest = makespan;
      best = std::move(*table);
    }
  }
  return best;
}

} // namespace

Table vHalf(ScheduleSize size) {
  return repeat(size, 2 * ((size.ranks + 2) / 2), [&](int32_t rank) {
    return BuildingBlock{2 * rank, 3 * size.ranks - rank - 2};
  });
}

Table vMin(ScheduleSize size) {
  return repeat(size, 2 * ((size.ranks + 4) / 3), [&](int32_t rank) {
    return BuildingBlock{rank, 2 * size.ranks - rank - 1};
  });
}

} // namespace weft::timeline
