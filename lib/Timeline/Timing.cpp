//===- Timing.cpp - When the actions of a table run -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Timing.h"

#include "Simulation.h"

#include <algorithm>

namespace weft::timeline {

double Timing::peak() const {
  double most = 0;
  for (const RankTiming &rank : ranks)
    most = std::max(most, rank.peak);
  return most;
}

double Timing::bubbleFraction(int32_t rank) const {
  return makespan > 0 ? bubble(rank) / makespan : 0;
}

double Timing::bubbleFraction() const {
  double sum = 0;
  for (int32_t rank = 0; rank < int32_t(ranks.size()); ++rank)
    sum += bubbleFraction(rank);
  return ranks.empty() ? 0 : sum / double(ranks.size());
}

double KeptMemory::run(const Action &action) {
  const StageCosts &stage = costs.stages[action.stage];
  double most = kept;
  switch (action.kind) {
  case ActionKind::Forward:
    most = kept += stage.activation;
    break;
  case ActionKind::InputGradient:
    most = kept += stage.betweenGradients;
    break;
  case ActionKind::WeightGradient:
    kept -= stage.activation + stage.betweenGradients;
    break;
  default:
    most += stage.recomputed;
    kept -= stage.activation;
  }
  return most;
}

static RankTiming summarize(const Row &row,
                            const std::vector<Interval> &intervals,
                            const Costs &costs) {
  RankTiming timing;
  if (row.empty())
    return timing;
  timing.start = intervals.front().start;
  timing.end = intervals.back().end;
  KeptMemory kept(costs);
  int32_t slots = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i].kind == ActionKind::Forward)
      ++slots;
    else if (row[i].kind != ActionKind::InputGradient)
      --slots;
    timing.peak = std::max(timing.peak, kept.run(row[i]));
    timing.peakSlots = std::max(timing.peakSlots, slots);
    const bool isSecondOfPair = i > 0 && row[i - 1].overlapsNext;
    if (!isSecondOfPair)
      timing.busy += intervals[i].end - intervals[i].start;
  }
  return timing;
}

std::optional<Timing> timeTable(const Table &table, const Costs &costs) {
  Simulation simulation(table, costs);
  if (!simulation.run())
    return std::nullopt;
  Timing timing;
  for (int32_t rank = 0; rank < table.ranks(); ++rank) {
    timing.rows.push_back(std::move(simulation.ranks[rank].intervals));
    timing.ranks.push_back(
        summarize(table.rows[rank], timing.rows[rank], costs));
    timing.makespan = std::max(timing.makespan, timing.ranks[rank].end);
  }
  return timing;
}

Costs recut(const Costs &costs, int32_t stages) {
  const int64_t given = costs.stages.size();
  if (given == stages)
    return costs;
  Costs result;
  result.transfer = costs.transfer;
  for (int64_t stage = 0; stage < stages; ++stage) {
    StageCosts sum = {0, 0, 0, std::nullopt, 0, 0, 0};
    // In units of 1 / (stages * given) of the model.
    const int64_t begin = stage * given, end = begin + given;
    for (int64_t old = begin / stages; old * stages < end; ++old) {
      const int64_t shared =
          std::min(end, (old + 1) * stages) - std::max(begin, old * stages);
      const double part = double(shared) / double(stages);
      const StageCosts &from = costs.stages[old];
      sum.forward += part * from.forward;
      sum.inputGradient += part * from.inputGradient;
      sum.weightGradient += part * from.weightGradient;
      sum.activation += part * from.activation;
      sum.betweenGradients += part * from.betweenGradients;
      sum.recomputed += part * from.recomputed;
      if (from.overlapped)
        sum.overlapped = sum.overlapped.value_or(0) + part * *from.overlapped;
    }
    result.stages.push_back(sum);
  }
  return result;
}

} // namespace weft::timeline
