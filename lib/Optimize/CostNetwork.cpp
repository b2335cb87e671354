//===- CostNetwork.cpp - Choices whose costs depend on each other ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Optimize/CostNetwork.h"

#include "Elimination.h"

#include <algorithm>

using namespace weft::optimize;

size_t HashOfNumbers::operator()(const std::vector<int64_t> &numbers) const {
  uint64_t hash = numbers.size();
  for (int64_t number : numbers) {
    hash = (hash ^ static_cast<uint64_t>(number)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

CostTables::Id CostTables::intern(std::vector<Cost> costs) {
  uint64_t hash = HashOfNumbers()(costs);
  auto [begin, end] = ids.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry)
    if (*tables[entry->second] == costs)
      return entry->second;
  Id id = static_cast<Id>(tables.size());
  tables.push_back(std::make_shared<const std::vector<Cost>>(std::move(costs)));
  ids.emplace(hash, id);
  return id;
}

CostNetwork::CostNetwork() = default;
CostNetwork::CostNetwork(CostNetwork &&) = default;
CostNetwork::~CostNetwork() = default;

CostNetwork::Variable CostNetwork::addVariable(size_t numValues) {
  sizes.push_back(numValues);
  factorsOf.emplace_back();
  return static_cast<Variable>(sizes.size() - 1);
}

void CostNetwork::addCosts(Variable variable, std::vector<Cost> costs) {
  addTable(variable, tables.intern(std::move(costs)));
}

void CostNetwork::addTable(Variable variable, Table table) {
  addFactor({{variable}, table});
}

void CostNetwork::addCosts(Variable first, Variable second, Table table) {
  addFactor({{first, second}, table});
}

void CostNetwork::addFactor(Factor factor) {
  for (Variable variable : factor.scope)
    factorsOf[variable].push_back(static_cast<int32_t>(factors.size()));
  factors.push_back(std::move(factor));
}

Cost CostNetwork::costOf(const Factor &factor,
                         const Assignment &assignment) const {
  size_t index = 0;
  for (Variable variable : factor.scope)
    index = index * sizes[variable] + assignment[variable];
  return tables[factor.table][index];
}

Cost CostNetwork::cost(const Assignment &assignment) const {
  Cost sum = 0;
  for (const Factor &factor : factors)
    sum = std::min(sum + costOf(factor, assignment), forbidden);
  return sum;
}

/// Gives one variable after the other its best value, as the others are.
void CostNetwork::improve(Assignment &assignment, int maxSweeps) const {
  std::vector<bool> isOpen(sizes.size(), true);
  bool changed = true;
  for (int sweep = 0; changed && sweep < maxSweeps; ++sweep) {
    changed = false;
    for (Variable variable = 0; variable < static_cast<Variable>(sizes.size());
         ++variable) {
      if (!isOpen[variable])
        continue;
      isOpen[variable] = false;
      int32_t before = assignment[variable], best = before;
      Cost least = forbidden;
      for (int32_t step = 0; step < static_cast<int32_t>(sizes[variable]);
           ++step) {
        // What it has comes first: a tie is no change.
        int32_t value = step == 0 ? before : step <= before ? step - 1 : step;
        assignment[variable] = value;
        Cost sum = 0;
        for (int32_t factor : factorsOf[variable])
          sum = std::min(sum + costOf(factors[factor], assignment), forbidden);
        if (sum < least) {
          least = sum;
          best = value;
        }
      }
      assignment[variable] = best;
      if (best == before)
        continue;
      changed = true;
      for (int32_t factor : factorsOf[variable])
        for (Variable neighbour : factors[factor].scope)
          isOpen[neighbour] = isOpen[neighbour] || neighbour != variable;
    }
  }
}

/// The best among the values that are not given up; `allowed` may be null.
CostNetwork::Solution
CostNetwork::eliminate(const Assignment &incumbent, bool nearIncumbent,
                       const std::vector<std::vector<int32_t>> *allowed,
                       size_t maxTable) const {
  constexpr size_t mostEntries = 1 << 22;
  if (!known || known->numGiven != tables.size())
    known = std::make_unique<KnownParts>(tables);
  Solution found;
  {
    Elimination elimination(*known, sizes, factors, maxTable, incumbent,
                            nearIncumbent);
    if (allowed)
      elimination.allowOnly(*allowed);
    found.assignment = elimination.run();
    found.isOptimal = elimination.isExact();
  }
  if (known->numEntries > mostEntries)
    known = nullptr;
  found.cost = cost(found.assignment);
  return found;
}

CostNetwork::Solution
CostNetwork::solveAmong(const Assignment &start,
                        const std::vector<std::vector<int32_t>> &allowed,
                        const Options &options) const {
  Solution found =
      eliminate(start, /*nearIncumbent=*/false, &allowed, options.maxTable);
  Cost before = cost(start);
  return found.cost < before ? found : Solution{start, before, found.isOptimal};
}

CostNetwork::Solution CostNetwork::solve(const Assignment &start,
                                         const Options &options) const {
  auto search = [&](const Assignment &incumbent, bool nearIncumbent) {
    Solution found =
        eliminate(incumbent, nearIncumbent, nullptr, options.maxTable);
    if (!found.isOptimal) {
      improve(found.assignment, options.maxSweeps);
      found.cost = cost(found.assignment);
    }
    return found;
  };
  Solution best;
  best.assignment = start;
  best.cost = cost(start);
  Solution found = search(start, /*nearIncumbent=*/false);
  best.isOptimal = found.isOptimal;
  if (found.cost < best.cost)
    best = std::move(found);
  for (int round = 0; !best.isOptimal && round < options.maxRounds; ++round) {
    found = search(best.assignment, /*nearIncumbent=*/true);
    if (found.cost >= best.cost)
      break;
    best = std::move(found);
  }
  return best;
}
