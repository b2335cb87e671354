//===- ShardingSearch.cpp - The cheapest choices of a function ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardingNetwork.h"

using namespace mlir;
using namespace weft;
using optimize::Cost;

using Id = ReshardPrices::Id;

/// The sharding without some axes.
Id ShardingNetwork::without(Id id, uint64_t axes) {
  auto [entry, isNew] = withoutAxes.try_emplace({id, axes}, id);
  if (!isNew)
    return entry->second;
  auto erase = [&](sharding::AxisList &list) {
    llvm::erase_if(list, [&](const sharding::AxisRef &ref) {
      return axes >> ref.axis & 1;
    });
  };
  sharding::Sharding rest = prices.get(id);
  for (sharding::DimSharding &dim : rest.dims)
    erase(dim.axes);
  erase(rest.unreduced);
  return withoutAxes[{id, axes}] = prices.intern(rest);
}

/// The values that differ from the assignment in what some axes split only.
std::vector<std::vector<int32_t>>
ShardingNetwork::differingIn(uint64_t axes, const Assignment &assignment) {
  std::vector<std::vector<int32_t>> allowed(network.numVariables());
  auto restOf = [&](const OpStrategy &strategy) {
    SmallVector<Id> rest;
    for (Id id : strategy.operands)
      rest.push_back(without(id, axes));
    for (Id id : strategy.results)
      rest.push_back(without(id, axes));
    return rest;
  };
  for (const auto &[op, found] : options) {
    SmallVector<Id> rest = restOf(found.strategies[assignment[found.variable]]);
    for (auto [number, strategy] : llvm::enumerate(found.strategies))
      if (restOf(strategy) == rest)
        allowed[found.variable].push_back(number);
  }
  for (const auto &[kept, made, needed] : keptValues) {
    Id rest = without(kept.shardings[assignment[kept.variable]], axes);
    for (auto [number, id] : llvm::enumerate(kept.shardings))
      if (without(id, axes) == rest)
        allowed[kept.variable].push_back(number);
  }
  return allowed;
}

/// The choices of ops as they are, and anything kept.
std::vector<std::vector<int32_t>>
ShardingNetwork::keptOnly(const Assignment &assignment) {
  auto allowed = differingIn(0, assignment);
  for (const auto &[op, found] : options)
    allowed[found.variable] = {assignment[found.variable]};
  for (const auto &[kept, made, needed] : keptValues) {
    auto numbers = llvm::seq<int32_t>(0, kept.shardings.size());
    allowed[kept.variable].assign(numbers.begin(), numbers.end());
  }
  return allowed;
}

static bool isAmong(ArrayRef<optimize::CostNetwork::Solution> solutions,
                    const optimize::CostNetwork::Solution &solution) {
  return llvm::any_of(solutions,
                      [&](const optimize::CostNetwork::Solution &each) {
                        return each.assignment == solution.assignment;
                      });
}

/// Where all axes together are too many: chooses anew what one axis splits
/// while the others stay, one axis after the other, as long as this helps, and
/// leads to no solution that was improved before.
optimize::CostNetwork::Solution ShardingNetwork::improveByAxes(
    const optimize::ReducedNetwork &reduced,
    optimize::CostNetwork::Solution solution,
    const optimize::CostNetwork::Options &limits,
    ArrayRef<optimize::CostNetwork::Solution> improved) {
  constexpr int maxRounds = 4;
  const size_t numAxes = prices.getMesh().axes().size();
  // Axes in succession that have nothing to improve.
  size_t settled = 0;
  for (int round = 0; round < maxRounds; ++round)
    for (size_t axis = 0; axis < numAxes; ++axis) {
      if (settled == numAxes)
        return solution;
      auto found = reduced.solveAmong(
          solution.assignment,
          differingIn(uint64_t(1) << axis, solution.assignment), limits);
      bool isBetter = found.cost < solution.cost;
      settled = isBetter ? found.isOptimal : settled + 1;
      solution = {std::move(found.assignment), found.cost};
      if (isBetter && isAmong(improved, solution))
        return solution;
    }
  return solution;
}

/// Where no values have to be given up the first search finds the best. Else
/// what is found depends on which were: tables of three sizes, and the start,
/// are each improved by axes.
void ShardingNetwork::search(optimize::CostNetwork::Options limits) {
  constexpr size_t leastTable = 1 << 8;
  // Larger tables take longer than they help.
  limits.maxTable = std::min<size_t>(limits.maxTable, 1 << 14);
  const optimize::ReducedNetwork reduced(network, startAssignment,
                                         std::min(limits.maxTable, leastTable));
  solution = reduced.solve(startAssignment, limits);
  if (solution.isOptimal)
    return;
  std::vector<optimize::CostNetwork::Solution> solutions;
  auto tryFrom = [&](optimize::CostNetwork::Solution start) {
    if (isAmong(solutions, start))
      return;
    solutions.push_back(improveByAxes(reduced, start, limits, solutions));
    if (solutions.back().cost < solution.cost)
      solution = solutions.back();
    solutions.push_back(std::move(start));
  };
  tryFrom(solution);
  for (size_t maxTable : {size_t(1) << 11, leastTable}) {
    auto smaller = limits;
    smaller.maxTable = std::min(limits.maxTable, maxTable);
    tryFrom(reduced.solve(startAssignment, smaller));
  }
  tryFrom(network.solveAmong(startAssignment, keptOnly(startAssignment), {}));
  for (auto &other : solutions)
    if (other.cost < network.cost(startAssignment) &&
        other.assignment != solution.assignment &&
        !llvm::is_contained(alternatives, other.assignment))
      alternatives.push_back(std::move(other.assignment));
}

/// Reshards do not all-reduce what they slice afterwards. That a value kept as
/// a whole sum is sliced alike for all its users is a reshard as well.
bool ShardingNetwork::isSlicedSum(Id made, Id kept, Id need) const {
  return kept != need && !prices.get(made).unreduced.empty() &&
         prices.get(kept).unreduced.empty() &&
         isPartOf(prices.get(need), prices.get(kept));
}

std::vector<ShardingNetwork::Exclusion> ShardingNetwork::exclusions() const {
  std::vector<Exclusion> exclusions;
  auto valuesOf = [](const End &end, llvm::function_ref<bool(Id)> isMeant) {
    std::pair<Variable, std::vector<int32_t>> values{end.variable, {}};
    for (auto [number, id] : llvm::enumerate(end.shardings))
      if (isMeant(id))
        values.second.push_back(static_cast<int32_t>(number));
    return values;
  };
  for (const auto &[kept, made, needed] : keptValues)
    for (Id whole : kept.shardings)
      for (Id need : SetVector<Id>(needed.front().shardings.begin(),
                                   needed.front().shardings.end())) {
        Exclusion all = {valuesOf(kept, [&](Id id) { return id == whole; }),
                         valuesOf(made, [&](Id id) {
                           return isSlicedSum(id, whole, need);
                         })};
        for (const End &end : needed)
          all.push_back(valuesOf(end, [&](Id id) { return id == need; }));
        if (llvm::all_of(all, [](auto &end) { return !end.second.empty(); }))
          exclusions.push_back(std::move(all));
      }
  return exclusions;
}

/// Keeps values that are excluded as their users need them; the numbers of
/// these values.
SmallVector<size_t>
ShardingNetwork::keepAsNeeded(Assignment &assignment) const {
  SmallVector<size_t> changed;
  auto chosen = [&](const End &end) {
    return end.shardings[end.variable < 0 ? 0 : assignment[end.variable]];
  };
  for (auto [number, value] : llvm::enumerate(keptValues)) {
    const auto &[kept, made, needed] = value;
    Id need = chosen(needed.front());
    if (!isSlicedSum(chosen(made), chosen(kept), need) ||
        llvm::any_of(needed,
                     [&](const End &other) { return chosen(other) != need; }))
      continue;
    changed.push_back(number);
    assignment[kept.variable] =
        llvm::find(kept.shardings, need) - kept.shardings.begin();
  }
  return changed;
}

/// The values without `given`, and with `taken`.
static std::vector<int32_t> withoutValue(std::vector<int32_t> values,
                                         int32_t given, int32_t taken) {
  llvm::erase(values, given);
  auto place = llvm::lower_bound(values, taken);
  if (place == values.end() || *place != taken)
    values.insert(place, taken);
  return values;
}

/// Where the best is excluded, looks for the best that does without: that keeps
/// the values otherwise, or of which one user needs something else.
void ShardingNetwork::correct(const optimize::CostNetwork::Options &limits) {
  constexpr int maxRounds = 4;
  constexpr size_t maxTried = 4;
  // No choice costs less than what the network finds.
  const double closeEnough = 1.01 * static_cast<double>(solution.cost);
  Values allowed(network.numVariables());
  for (size_t variable = 0; variable < allowed.size(); ++variable) {
    auto numbers = llvm::seq<int32_t>(0, network.numValues(variable));
    allowed[variable].assign(numbers.begin(), numbers.end());
  }
  optimize::CostNetwork::Solution trial = solution;
  std::optional<optimize::CostNetwork::Solution> best;
  for (int round = 0; round < maxRounds; ++round) {
    Assignment corrected = trial.assignment;
    const SmallVector<size_t> changed = keepAsNeeded(corrected);
    Cost cost = network.cost(corrected);
    if (!best || cost < best->cost)
      best = {corrected, cost, round == 0 && changed.empty()};
    if (changed.empty() || static_cast<double>(best->cost) <= closeEnough)
      break;
    Values without = allowed;
    for (size_t number : changed) {
      Variable kept = keptValues[number].kept.variable;
      // What the start has may have been given up for another need.
      without[kept] =
          withoutValue(allowed[kept], trial.assignment[kept], corrected[kept]);
    }
    std::vector<std::pair<Values, Assignment>> branches = {
        {std::move(without), corrected}};
    for (size_t number :
         changed.size() <= maxTried ? ArrayRef(changed) : ArrayRef<size_t>())
      addBranches(keptValues[number], trial.assignment, allowed, branches);
    trial.cost = optimize::forbidden;
    for (auto &[values, start] : branches) {
      auto found = network.solveAmong(start, values, limits);
      if (found.cost < trial.cost) {
        trial = std::move(found);
        allowed = std::move(values);
      }
    }
  }
  solution = std::move(*best);
}

/// One for each user that may need something else.
void ShardingNetwork::addBranches(
    const KeptValue &value, const Assignment &assignment, const Values &allowed,
    std::vector<std::pair<Values, Assignment>> &branches) const {
  for (const End &end : value.needed) {
    if (end.variable < 0)
      continue;
    auto &[values, start] = branches.emplace_back(allowed, assignment);
    Id need = end.shardings[assignment[end.variable]];
    llvm::erase_if(values[end.variable], [&](int32_t number) {
      return end.shardings[number] == need;
    });
    if (values[end.variable].empty())
      branches.pop_back();
    else
      start[end.variable] = values[end.variable].front();
  }
}

OpChoices ShardingNetwork::choicesOf(const Assignment &assignment) const {
  OpChoices choices;
  for (auto &[op, found] : options) {
    if (isMarker(op))
      continue;
    const OpStrategy &strategy = found.strategies[assignment[found.variable]];
    FactorSolution &choice = choices[op];
    choice.operands.assign(strategy.operands.begin(), strategy.operands.end());
    choice.results.assign(strategy.results.begin(), strategy.results.end());
    choice.onTerms = strategy.onTerms;
  }
  return choices;
}

OpChoices ShardingNetwork::solve(optimize::CostNetwork::Options limits) {
  search(limits);
  if (solution.isOptimal)
    correct(limits);
  return choicesOf(solution.assignment);
}

std::vector<OpChoices> ShardingNetwork::getAlternatives() const {
  std::vector<OpChoices> choices;
  for (const Assignment &assignment : alternatives)
    choices.push_back(choicesOf(assignment));
  return choices;
}
