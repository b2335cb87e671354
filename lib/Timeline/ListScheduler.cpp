//===- ListScheduler.cpp - Tables by list scheduling ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListScheduler.h"

#include "Times.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>

namespace weft::timeline {
namespace {

class ListScheduler {
public:
  explicit ListScheduler(const ListProblem &problem);
  std::optional<Table> run();

private:
  struct Rank {
    std::vector<int32_t> stages;
    double freeAt = 0;
    double kept = 0;
    size_t nextForward = 0;
    std::deque<Action> weightGradients;
    bool lastWasForward = false;
  };
  struct Stage {
    int32_t forwards = 0, inputGradients = 0;
    /// By micro-batch: when the inputs of both are at the rank.
    std::vector<double> forwardArrival, gradientArrival;
  };
  struct Candidate {
    Action action;
    double arrival = never;
  };

  Candidate nextForward(int32_t rank) const;
  Candidate nextInputGradient(int32_t rank) const;
  bool fits(int32_t rank, const Action &forward) const;
  std::optional<Action> choose(int32_t rank, double now);
  bool shouldStartWeightGradient(int32_t rank, double now,
                                 const Candidate &forward,
                                 const Candidate &gradient) const;
  void start(int32_t rank, double now, const Action &action);
  /// The output of `from` is there for `to` from a time on.
  void deliver(int32_t from, int32_t to, double end, double &arrival);
  void wake(double time, int32_t rank) { events.push({time, rank}); }

  const ListProblem &problem;
  const Costs &costs;
  std::vector<Rank> ranks;
  std::vector<Stage> stages;
  using Event = std::pair<double, int32_t>;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  Table table;
};

ListScheduler::ListScheduler(const ListProblem &problem)
    : problem(problem), costs(*problem.costs), ranks(problem.forwards.size()),
      stages(problem.placement.size()) {
  table.rows.resize(ranks.size());
  for (int32_t stage = 0; stage < int32_t(stages.size()); ++stage) {
    stages[stage].forwardArrival.assign(problem.microbatches,
                                        stage == 0 ? 0 : never);
    stages[stage].gradientArrival.assign(problem.microbatches, never);
    ranks[problem.placement[stage]].stages.push_back(stage);
  }
  for (int32_t rank = 0; rank < int32_t(ranks.size()); ++rank)
    wake(0, rank);
}

std::optional<Table> ListScheduler::run() {
  while (!events.empty()) {
    const auto [now, rank] = events.top();
    events.pop();
    if (ranks[rank].freeAt > now)
      continue;
    if (std::optional<Action> action = choose(rank, now))
      start(rank, now, *action);
  }
  for (const Stage &stage : stages)
    if (stage.inputGradients < problem.microbatches)
      return std::nullopt;
  return std::move(table);
}

ListScheduler::Candidate ListScheduler::nextForward(int32_t rank) const {
  const Row &order = problem.forwards[rank];
  if (ranks[rank].nextForward == order.size())
    return {};
  const Action &action = order[ranks[rank].nextForward];
  return {action, stages[action.stage].forwardArrival[action.microbatch]};
}

ListScheduler::Candidate ListScheduler::nextInputGradient(int32_t rank) const {
  // Of those that are there the one that is longest, and of the same time that
  // of the later stage: its gradient has the longer way to go.
  Candidate best;
  for (int32_t stage : ranks[rank].stages) {
    const int32_t microbatch = stages[stage].inputGradients;
    if (microbatch == problem.microbatches)
      continue;
    const double arrival = stages[stage].gradientArrival[microbatch];
    if (arrival <= best.arrival && arrival < never)
      best = {{stage, ActionKind::InputGradient, microbatch}, arrival};
  }
  return best;
}

bool ListScheduler::fits(int32_t rank, const Action &action) const {
  const StageCosts &stage = costs.stages[action.stage];
  const double taken = action.kind == ActionKind::Forward
                           ? stage.activation
                           : stage.betweenGradients;
  return ranks[rank].kept + taken <=
         problem.policies[rank].limit + roundingError;
}

std::optional<Action> ListScheduler::choose(int32_t rank, double now) {
  const Rank &state = ranks[rank];
  const Candidate forward = nextForward(rank);
  const Candidate gradient = nextInputGradient(rank);
  const bool canForward = forward.arrival <= now && fits(rank, forward.action);
  // Where no weight gradient makes room for it, it has to run.
  const bool canGradient =
      gradient.arrival <= now &&
      (fits(rank, gradient.action) || state.weightGradients.empty());
  if (canForward && canGradient) {
    const ListPolicy::Prefer prefer = problem.policies[rank].prefer;
    const bool isForward =
        prefer == ListPolicy::Prefer::Forward ||
        (prefer == ListPolicy::Prefer::Other && !state.lastWasForward);
    return isForward ? forward.action : gradient.action;
  }
  if (canForward)
    return forward.action;
  if (canGradient)
    return gradient.action;
  if (shouldStartWeightGradient(rank, now, forward, gradient))
    return state.weightGradients.front();
  return std::nullopt;
}

bool ListScheduler::shouldStartWeightGradient(int32_t rank, double now,
                                              const Candidate &forward,
                                              const Candidate &gradient) const {
  const Rank &state = ranks[rank];
  if (state.weightGradients.empty())
    return false;
  // Only weight gradients make room.
  if (gradient.arrival <= now)
    return true;
  const bool isFull = forward.arrival < never && !fits(rank, forward.action);
  double arrival = gradient.arrival;
  if (!isFull)
    arrival = std::min(arrival, forward.arrival);
  else if (forward.arrival <= now)
    return true;
  const int32_t stage = state.weightGradients.front().stage;
  const double time = costs.stages[stage].weightGradient;
  return now + problem.policies[rank].patience * time <=
         arrival + roundingError;
}

void ListScheduler::start(int32_t rank, double now, const Action &action) {
  Rank &state = ranks[rank];
  const StageCosts &stageCosts = costs.stages[action.stage];
  Stage &stage = stages[action.stage];
  double end = now;
  table.rows[rank].push_back(action);
  switch (action.kind) {
  case ActionKind::Forward:
    end += stageCosts.forward;
    state.kept += stageCosts.activation;
    ++state.nextForward;
    state.lastWasForward = true;
    if (action.stage + 1 < int32_t(stages.size()))
      deliver(action.stage, action.stage + 1, end,
              stages[action.stage + 1].forwardArrival[action.microbatch]);
    else
      stage.gradientArrival[action.microbatch] = end;
    break;
  case ActionKind::InputGradient:
    end += stageCosts.inputGradient;
    state.kept += stageCosts.betweenGradients;
    ++stage.inputGradients;
    state.lastWasForward = false;
    state.weightGradients.push_back(
        {action.stage, ActionKind::WeightGradient, action.microbatch});
    if (action.stage > 0)
      deliver(action.stage, action.stage - 1, end,
              stages[action.stage - 1].gradientArrival[action.microbatch]);
    break;
  default:
    end += stageCosts.weightGradient;
    state.kept -= stageCosts.activation + stageCosts.betweenGradients;
    state.weightGradients.pop_front();
  }
  state.freeAt = end;
  wake(end, rank);
}

void ListScheduler::deliver(int32_t from, int32_t to, double end,
                            double &arrival) {
  const int32_t rank = problem.placement[to];
  arrival = end + (problem.placement[from] == rank ? 0 : costs.transfer);
  wake(arrival, rank);
}

} // namespace

std::optional<Table> scheduleList(const ListProblem &problem) {
  return ListScheduler(problem).run();
}

} // namespace weft::timeline
