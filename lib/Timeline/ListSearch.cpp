//===- ListSearch.cpp - Looks for good list schedules ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListSearch.h"

#include "Times.h"

#include <algorithm>

namespace weft::timeline {

bool isBetter(const RatedTable &a, const RatedTable &b) {
  if (a.makespan < b.makespan - roundingError ||
      a.makespan > b.makespan + roundingError)
    return a.makespan < b.makespan;
  return a.peak < b.peak - roundingError;
}

std::optional<RatedTable> rateTable(Table table, const Costs &costs) {
  const std::optional<Timing> timing = timeTable(table, costs);
  if (!timing)
    return std::nullopt;
  return RatedTable{std::move(table), timing->makespan, timing->peak()};
}

namespace {

/// Random numbers that are the same everywhere (splitmix64).
class Random {
public:
  uint64_t below(uint64_t bound) {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % bound;
  }

private:
  uint64_t state = 1;
};

/// One random change of a problem, and back again.
class Change {
public:
  Change(ListProblem &problem, double limit, Random &random)
      : problem(problem), rank(random.below(problem.policies.size())),
        policy(problem.policies[rank]) {
    ListPolicy &changed = problem.policies[rank];
    switch (random.below(4)) {
    case 0:
      changed.prefer = ListPolicy::Prefer(random.below(3));
      break;
    case 1:
      changed.patience = double(random.below(6)) / 4;
      break;
    case 2:
      changed.limit = limit * double(8 - random.below(5)) / 8;
      break;
    default:
      const size_t count = problem.forwards[rank].size();
      if (count > 1) {
        first = random.below(count);
        second = std::min(count - 1, first + 1 + random.below(3));
        swap();
      }
    }
  }

  void undo() {
    problem.policies[rank] = policy;
    swap();
  }

  /// Whether the micro-batches of each stage are in their order.
  bool isInOrder() const {
    const Row &row = problem.forwards[rank];
    for (size_t i = first; i <= second; ++i)
      for (size_t j = i + 1; j <= second; ++j)
        if (row[i].stage == row[j].stage &&
            row[i].microbatch > row[j].microbatch)
          return false;
    return true;
  }

private:
  void swap() {
    std::swap(problem.forwards[rank][first], problem.forwards[rank][second]);
  }

  ListProblem &problem;
  size_t rank;
  ListPolicy policy;
  size_t first = 0, second = 0;
};

} // namespace

RatedTable searchLists(ListProblem problem, RatedTable start, double limit,
                       double goal, int64_t trials, int64_t &work) {
  const int64_t actions =
      3 * int64_t(problem.placement.size()) * problem.microbatches;
  Random random;
  RatedTable best = std::move(start);
  for (; trials > 0 && work > 0 && best.makespan > goal + roundingError;
       --trials) {
    Change change(problem, limit, random);
    work -= actions;
    std::optional<Table> table;
    if (change.isInOrder())
      table = scheduleList(problem);
    std::optional<RatedTable> rated;
    if (table)
      rated = rateTable(std::move(*table), *problem.costs);
    if (!rated || isBetter(best, *rated))
      change.undo();
    else
      best = std::move(*rated);
  }
  return best;
}

} // namespace weft::timeline
