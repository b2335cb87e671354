//===- AutoSchedule.cpp - The fastest table -------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/AutoSchedule.h"

#include "ListSearch.h"
#include "LocalSearch.h"
#include "Times.h"
#include "weft/Timeline/Extent.h"
#include "weft/Timeline/LowerBound.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

namespace weft::timeline {
namespace {

/// How many actions may be scheduled and simulated in all in each phase, and
/// how many tables are made from one problem.
constexpr int64_t firstWork = 5'000'000, listWork = 12'000'000,
                  localWork = 12'000'000, trialsEach = 600;
/// So many problems, and then so many tables, are looked at closely.
constexpr size_t mostProblems = 6, mostTables = 6;
/// Of the tables, of which many are kept at a time.
constexpr int mostActions = 1'000'000;

/// A published schedule with the costs of the request, or without a name one
/// micro-batch after the other.
struct NamedCandidate {
  std::string_view name;
  int32_t chunks = 0;
  RatedTable rated;
};

/// A problem for the list scheduler, and what it makes of it.
struct ListCandidate {
  const NamedCandidate *base = nullptr;
  ListPolicy policy;
  RatedTable rated;
};

struct ChunkedTable {
  int32_t chunks = 0;
  RatedTable rated;
};

/// The best first, and of equal ones the one that was found first.
template <typename Candidate>
void insertSorted(std::vector<Candidate> &candidates, Candidate candidate) {
  const auto place = std::ranges::upper_bound(candidates, candidate.rated,
                                              isBetter, &Candidate::rated);
  candidates.insert(place, std::move(candidate));
}

/// The forwards of a micro-batch in all stages of the rank, then its backwards.
Table takeOneByOne(const Placement &placement, ScheduleSize size) {
  Table table;
  table.rows.resize(size.ranks);
  const int32_t stages = int32_t(placement.size());
  for (int32_t i = 0; i < size.microbatches; ++i) {
    for (int32_t stage = 0; stage < stages; ++stage)
      table.rows[placement[stage]].push_back({stage, ActionKind::Forward, i});
    for (int32_t stage = stages; stage-- > 0;)
      table.rows[placement[stage]].push_back({stage, ActionKind::Backward, i});
  }
  return table;
}

class FastestFinder {
public:
  explicit FastestFinder(const AutoRequest &request)
      : request(request), limit(request.memoryLimit.value_or(
                              std::numeric_limits<double>::infinity())) {}

  AutoSchedule find();

private:
  const Costs &costsOf(int32_t chunks);
  bool fits(const RatedTable &rated) const {
    return rated.peak <= limit + roundingError;
  }
  ListProblem problemOf(const NamedCandidate &base, const ListPolicy &policy);
  double boundOf(const NamedCandidate &base);
  void rateBases();
  void rateLists();
  void addTable(int32_t chunks, RatedTable rated);
  void searchProblems();
  void improveTables();
  double leastMemory() const;

  const AutoRequest &request;
  double limit;
  std::map<int32_t, Costs> costs;
  std::vector<NamedCandidate> bases;
  std::vector<ListCandidate> lists;
  /// All that fit, the best first.
  std::vector<ChunkedTable> tables;
};

const Costs &FastestFinder::costsOf(int32_t chunks) {
  const auto [entry, isNew] = costs.try_emplace(chunks);
  if (isNew)
    entry->second = recut(request.costs, request.size.ranks * chunks);
  return entry->second;
}

void FastestFinder::addTable(int32_t chunks, RatedTable rated) {
  if (!fits(rated))
    return;
  insertSorted(tables, {chunks, std::move(rated)});
  if (tables.size() > 4 * mostTables)
    tables.pop_back();
}

void FastestFinder::rateBases() {
  std::vector<int32_t> chunkCounts = {1, 2};
  if (request.size.chunks != 0)
    chunkCounts = {request.size.chunks};
  for (const NamedSchedule &schedule : namedSchedules())
    for (int32_t chunks : chunkCounts) {
      ScheduleSize size = request.size;
      size.chunks = chunks;
      GeneratedTable generated = generate(schedule.name, size);
      if (generated.error.empty())
        insertSorted(bases,
                     {schedule.name, chunks,
                      *rateTable(std::move(generated.table), costsOf(chunks))});
    }
  if (bases.empty())
    return;
  for (int32_t chunks : chunkCounts)
    for (Fold fold : {Fold::Loop, Fold::V}) {
      Table table = takeOneByOne(placementOf(fold, request.size.ranks, chunks),
                                 request.size);
      insertSorted(bases,
                   {"", chunks, *rateTable(std::move(table), costsOf(chunks))});
    }
  for (const NamedCandidate &one : bases)
    addTable(one.chunks, one.rated);
}

ListProblem FastestFinder::problemOf(const NamedCandidate &base,
                                     const ListPolicy &policy) {
  const Extent extent = extentOf(base.rated.table);
  ListProblem problem;
  problem.placement = extent.placement;
  problem.microbatches = extent.microbatches;
  problem.costs = &costsOf(base.chunks);
  problem.policies.assign(request.size.ranks, policy);
  for (const Row &row : base.rated.table.rows) {
    Row &forwards = problem.forwards.emplace_back();
    for (const Action &action : row)
      if (action.kind == ActionKind::Forward)
        forwards.push_back({action.stage, action.kind, action.microbatch});
  }
  return problem;
}

double FastestFinder::boundOf(const NamedCandidate &base) {
  const Extent extent = extentOf(base.rated.table);
  return lowerBoundWithin(limit, extent.placement, extent.microbatches,
                          costsOf(base.chunks));
}

void FastestFinder::rateLists() {
  int64_t work = firstWork;
  for (const NamedCandidate &base : bases) {
    // One that does not fit may do in less memory.
    std::vector<double> limits = {std::min(limit, base.rated.peak)};
    if (base.rated.peak < limit)
      limits.push_back(limit);
    for (double most : limits)
      for (auto prefer :
           {ListPolicy::Prefer::InputGradient, ListPolicy::Prefer::Forward,
            ListPolicy::Prefer::Other})
        for (double patience : {0., 0.5, 1.}) {
          const ListPolicy policy = {most, prefer, patience};
          const ListProblem problem = problemOf(base, policy);
          work -= 3 * int64_t(problem.placement.size()) * problem.microbatches;
          if (work < 0)
            return;
          std::optional<Table> table = scheduleList(problem);
          if (!table)
            continue;
          if (auto rated = rateTable(std::move(*table), *problem.costs)) {
            addTable(base.chunks, *rated);
            insertSorted(lists, {&base, policy, std::move(*rated)});
          }
        }
  }
}

void FastestFinder::searchProblems() {
  // Of each schedule the best, or all trials would be spent on near copies.
  std::vector<const NamedCandidate *> seen;
  int64_t work = listWork;
  for (ListCandidate &list : lists) {
    if (seen.size() == mostProblems)
      break;
    if (std::ranges::find(seen, list.base) != seen.end())
      continue;
    seen.push_back(list.base);
    addTable(list.base->chunks,
             searchLists(problemOf(*list.base, list.policy),
                         std::move(list.rated),
                         std::min(limit, 2 * list.base->rated.peak),
                         boundOf(*list.base), trialsEach, work));
  }
}

void FastestFinder::improveTables() {
  const std::vector<ChunkedTable> starts(
      tables.begin(), tables.begin() + std::min(tables.size(), mostTables));
  for (const ChunkedTable &start : starts) {
    const Costs &given = costsOf(start.chunks);
    Table table = improveTable(start.rated.table, given, limit,
                               localWork / int64_t(mostTables));
    if (auto rated = rateTable(std::move(table), given))
      addTable(start.chunks, std::move(*rated));
  }
}

/// No table needs less memory than one that takes one micro-batch at a time.
double FastestFinder::leastMemory() const {
  double least = std::numeric_limits<double>::infinity();
  for (const NamedCandidate &one : bases)
    least = std::min(least, one.rated.peak);
  return least;
}

AutoSchedule FastestFinder::find() {
  AutoSchedule result;
  // Numbers from a command line may have a product that no integer has.
  const double actions = 3. * request.size.ranks *
                         std::max(1, request.size.chunks) *
                         request.size.microbatches;
  if (actions > mostActions) {
    char text[100];
    std::snprintf(text, sizeof text,
                  "a search is for tables of at most %d actions, got %.6g",
                  mostActions, actions);
    result.error = text;
    return result;
  }
  rateBases();
  if (bases.empty()) {
    // That one takes every size that there is.
    result.error = generate("looped-bfs", request.size).error;
    return result;
  }
  rateLists();
  if (tables.empty()) {
    result.leastMemory = leastMemory();
    return result;
  }
  searchProblems();
  improveTables();
  for (const NamedCandidate &one : bases)
    if (fits(one.rated) && !one.name.empty())
      result.named.push_back(
          {one.name, one.chunks, one.rated.makespan, one.rated.peak});
  ChunkedTable &best = tables.front();
  std::optional<RatedTable> merged =
      rateTable(mergeBackward(best.rated.table), costsOf(best.chunks));
  if (merged && !isBetter(best.rated, *merged))
    best.rated = std::move(*merged);
  result.table = std::move(best.rated.table);
  return result;
}

} // namespace

/// A power of two about as large as a number, or 1.
static double powerOfTwo(double number) {
  return number > 0 ? std::exp2(std::ilogb(number)) : 1;
}

AutoSchedule findFastest(const AutoRequest &request) {
  // What the search takes for rounding errors is so for numbers of about 1.
  AutoRequest scaled = request;
  double longest = 0, largest = 0;
  for (const StageCosts &stage : request.costs.stages) {
    longest = std::max(
        {longest, stage.forward, stage.inputGradient, stage.weightGradient});
    largest = std::max(
        {largest, stage.activation, stage.betweenGradients, stage.recomputed});
  }
  const double time = powerOfTwo(longest), memory = powerOfTwo(largest);
  scaled.costs.transfer /= time;
  for (StageCosts &stage : scaled.costs.stages) {
    for (double *each :
         {&stage.forward, &stage.inputGradient, &stage.weightGradient})
      *each /= time;
    if (stage.overlapped)
      *stage.overlapped /= time;
    for (double *each :
         {&stage.activation, &stage.betweenGradients, &stage.recomputed})
      *each /= memory;
  }
  if (scaled.memoryLimit)
    *scaled.memoryLimit /= memory;

  AutoSchedule found = FastestFinder(scaled).find();
  for (RatedSchedule &each : found.named) {
    each.makespan *= time;
    each.peak *= memory;
  }
  if (found.leastMemory) {
    *found.leastMemory *= memory;
    char text[160];
    std::snprintf(text, sizeof text,
                  "no schedule fits the memory limit of %.6g activations per "
                  "rank; one micro-batch at a time needs %.6g",
                  *request.memoryLimit, *found.leastMemory);
    found.error = text;
  }
  return found;
}

} // namespace weft::timeline
