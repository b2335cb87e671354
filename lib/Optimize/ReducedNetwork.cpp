//===- ReducedNetwork.cpp - A network without its easy variables ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Optimize/ReducedNetwork.h"

#include "Elimination.h"

#include <algorithm>

using namespace weft::optimize;

ReducedNetwork::ReducedNetwork(const CostNetwork &network,
                               const Assignment &near, size_t maxTable)
    : network(network),
      known(std::make_unique<KnownParts>(network.getTables())),
      elimination(std::make_unique<Elimination>(
          *known, network.getSizes(), network.getFactors(), maxTable, near,
          /*nearIncumbent=*/false)) {
  elimination->reduce();
  variables = elimination->remaining();
  std::vector<CostNetwork::Variable> numbers(network.numVariables(), -1);
  for (CostNetwork::Variable variable : variables)
    numbers[variable] = core.addVariable(elimination->sizeOf(variable));
  for (CostNetwork::Factor factor : elimination->getFactors()) {
    if (factor.scope.empty())
      continue;
    for (CostNetwork::Variable &variable : factor.scope)
      variable = numbers[variable];
    factor.table =
        core.getTables().intern(elimination->getTables()[factor.table]);
    core.addFactor(std::move(factor));
  }
}

ReducedNetwork::~ReducedNetwork() = default;

ReducedNetwork::Assignment
ReducedNetwork::project(const Assignment &assignment) const {
  const Assignment projected = elimination->project(assignment);
  Assignment ofCore;
  for (CostNetwork::Variable variable : variables)
    ofCore.push_back(projected[variable]);
  return ofCore;
}

ReducedNetwork::Solution ReducedNetwork::lift(const Assignment &start,
                                              const Solution &found) const {
  Assignment remaining(network.numVariables(), 0);
  for (size_t i = 0; i < variables.size(); ++i)
    remaining[variables[i]] = found.assignment[i];
  Solution lifted = {elimination->lift(std::move(remaining)), 0,
                     found.isOptimal};
  lifted.cost = network.cost(lifted.assignment);
  Cost before = network.cost(start);
  return lifted.cost < before ? lifted
                              : Solution{start, before, found.isOptimal};
}

ReducedNetwork::Solution ReducedNetwork::solve(const Assignment &start,
                                               const Options &options) const {
  return lift(start, core.solve(project(start), options));
}

ReducedNetwork::Solution
ReducedNetwork::solveAmong(const Assignment &start,
                           const std::vector<std::vector<int32_t>> &allowed,
                           const Options &options) const {
  const Assignment ofCore = project(start);
  std::vector<std::vector<int32_t>> left(variables.size());
  for (size_t i = 0; i < variables.size(); ++i) {
    // What a value is replaced by need not be allowed.
    left[i] = elimination->numbersLeft(variables[i], allowed[variables[i]]);
    auto place = std::lower_bound(left[i].begin(), left[i].end(), ofCore[i]);
    if (place == left[i].end() || *place != ofCore[i])
      left[i].insert(place, ofCore[i]);
  }
  return lift(start, core.solveAmong(ofCore, left, options));
}
