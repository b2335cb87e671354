//===- Simulation.cpp - Runs rows against each other ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Simulation.h"

#include <algorithm>

namespace weft::timeline {

static double timeOf(const Action &action, const Costs &costs) {
  const StageCosts &stage = costs.stages[action.stage];
  switch (action.kind) {
  case ActionKind::Forward:
    return stage.forward;
  case ActionKind::Backward:
    return stage.backward();
  case ActionKind::InputGradient:
    return stage.inputGradient;
  case ActionKind::WeightGradient:
    return stage.weightGradient;
  default:
    return 0;
  }
}

static double timeOfPair(const Action &forward, const Action &backward,
                         const Costs &costs) {
  return costs.stages[forward.stage].overlapped.value_or(
      timeOf(forward, costs) + timeOf(backward, costs));
}

Simulation::Simulation(const Table &table, const Costs &costs)
    : ranks(table.ranks()), extent(extentOf(table)), table(table),
      costs(costs) {
  const size_t size = size_t(extent.stages) * extent.microbatches;
  forwards.resize(size);
  backwards.resize(size);
  for (int32_t rank = table.ranks(); rank-- > 0;) {
    ranks[rank].intervals.resize(table.rows[rank].size());
    runnable.push_back(rank);
  }
}

bool Simulation::run() {
  while (!runnable.empty()) {
    const int32_t rank = runnable.back();
    runnable.pop_back();
    advance(rank);
  }
  return std::ranges::none_of(
      ranks, [](const Rank &rank) { return rank.wait.has_value(); });
}

void Simulation::advance(int32_t rank) {
  Rank &state = ranks[rank];
  const Row &row = table.rows[rank];
  state.wait.reset();
  while (state.next < row.size()) {
    const size_t at = state.next;
    const Action &action = row[at];
    const bool isPair = action.overlapsNext && at + 1 < row.size();
    std::optional<double> start = arrival(action, rank);
    if (start && isPair) {
      const std::optional<double> other = arrival(row[at + 1], rank);
      start = other ? std::optional(std::max(*start, *other)) : std::nullopt;
    }
    if (!start)
      return;
    if (at > 0)
      *start = std::max(*start, state.intervals[at - 1].end);
    const double end = *start + (isPair ? timeOfPair(action, row[at + 1], costs)
                                        : timeOf(action, costs));
    for (size_t i = at; i <= at + isPair; ++i) {
      state.intervals[i] = {*start, end};
      record(row[i], end);
    }
    state.next += 1 + isPair;
  }
}

std::optional<double> Simulation::arrival(const Action &action, int32_t rank) {
  const int32_t stage = action.stage, microbatch = action.microbatch;
  double time = 0;
  if (action.kind == ActionKind::Forward)
    return stage == 0 || addInput({stage - 1, microbatch, true}, rank, time)
               ? std::optional(time)
               : std::nullopt;
  if (action.kind == ActionKind::WeightGradient)
    return addInput({stage, microbatch, false}, rank, time)
               ? std::optional(time)
               : std::nullopt;
  const bool isLast = stage == extent.stages - 1;
  if (!addInput({stage, microbatch, true}, rank, time) ||
      (!isLast && !addInput({stage + 1, microbatch, false}, rank, time)))
    return std::nullopt;
  return time;
}

bool Simulation::addInput(Wait input, int32_t rank, double &arrival) {
  const size_t index = indexOf(input.stage, input.microbatch);
  Pass &producer = (input.isForward ? forwards : backwards)[index];
  if (producer.end < 0) {
    producer.waitingRank = rank;
    ranks[rank].wait = input;
    return false;
  }
  const bool isLocal = extent.placement[input.stage] == rank;
  arrival = std::max(arrival, producer.end + (isLocal ? 0 : costs.transfer));
  return true;
}

void Simulation::record(const Action &action, double end) {
  if (action.kind == ActionKind::WeightGradient)
    return;
  const bool isForward = action.kind == ActionKind::Forward;
  Pass &pass =
      (isForward ? forwards
                 : backwards)[indexOf(action.stage, action.microbatch)];
  pass.end = end;
  if (pass.waitingRank >= 0)
    runnable.push_back(pass.waitingRank);
  pass.waitingRank = -1;
}

} // namespace weft::timeline
