//===- CostNetworkTest.cpp - Tests of choices with costs ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Optimize/ReducedNetwork.h"

#include <gmock/gmock.h>

#include <random>

using namespace weft::optimize;
using testing::ElementsAre;

namespace {

using Assignment = CostNetwork::Assignment;

/// A network whose variables are tied at random to some before them.
CostNetwork randomNetwork(std::mt19937 &random, int numVariables, int ties,
                          int maxValues) {
  auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<unsigned>(bound));
  };
  CostNetwork network;
  for (int i = 0; i < numVariables; ++i) {
    auto variable = network.addVariable(1 + below(maxValues));
    std::vector<Cost> own(network.numValues(variable));
    for (Cost &cost : own)
      cost = below(10);
    network.addCosts(variable, own);
    for (int tie = 0; i > 0 && tie < ties; ++tie) {
      int other = below(i);
      std::vector<Cost> costs(network.numValues(other) *
                              network.numValues(variable));
      for (Cost &cost : costs)
        cost = below(8) == 0 ? forbidden : below(100);
      network.addCosts(other, variable, network.getTables().intern(costs));
    }
  }
  return network;
}

/// The least cost, by looking at every assignment.
Cost leastCost(const CostNetwork &network) {
  Assignment assignment(network.numVariables(), 0);
  Cost least = forbidden;
  while (true) {
    least = std::min(least, network.cost(assignment));
    size_t i = 0;
    while (i < assignment.size() &&
           ++assignment[i] == static_cast<int>(network.numValues(i)))
      assignment[i++] = 0;
    if (i == assignment.size())
      return least;
  }
}

TEST(CostNetwork, AVariableAloneTakesItsCheapestValue) {
  CostNetwork network;
  network.addCosts(network.addVariable(3), {5, 2, 7});
  auto solution = network.solve({0});
  EXPECT_THAT(solution.assignment, ElementsAre(1));
  EXPECT_EQ(solution.cost, 2);
  EXPECT_TRUE(solution.isOptimal);
}

TEST(CostNetwork, ATieKeepsTheStart) {
  CostNetwork network;
  network.addCosts(network.addVariable(2), {3, 3});
  EXPECT_THAT(network.solve({1}).assignment, ElementsAre(1));
}

// One table for a variable that keeps its last three values, and for one that
// keeps its last two, beside another that has a single value.
TEST(CostNetwork, ATableOfTwoScopesIsCutForEach) {
  CostNetwork network;
  const auto table = network.getTables().intern({90, 0, 30, 10});
  auto addTied = [&](CostNetwork::Variable variable, std::vector<Cost> costs) {
    const auto other = network.addVariable(costs.size() / 4);
    network.addCosts(variable, other, network.getTables().intern(costs));
  };
  const auto alone = network.addVariable(4);
  network.addTable(alone, table);
  addTied(alone, {99, 99, 99, 0, 60, 60, 60, 0, 60, 60, 60, 0});
  const auto paired = network.addVariable(4), single = network.addVariable(1);
  network.addCosts(paired, single, table);
  addTied(paired, {99, 99, 99, 99, 0, 50, 50, 0});
  const auto solution = network.solve({0, 0, 0, 0, 0});
  EXPECT_THAT(solution.assignment, ElementsAre(1, 0, 3, 0, 1));
  EXPECT_EQ(solution.cost, 10);
}

// A value that is worse for all but one choice of the others is in the answer
// if that choice is, wherever it lies in the table.
TEST(CostNetwork, AValueThatIsBestInOnePlaceIsNotGivenUp) {
  for (size_t special = 0; special < 3; ++special) {
    std::vector<int> sizes = {2, 40};
    sizes.insert(sizes.begin() + special, 2);
    for (int place = 0; place < 80; ++place) {
      Assignment best = {place / 40, place % 40};
      best.insert(best.begin() + special, 1);
      CostNetwork network;
      for (size_t i = 0; i < 3; ++i) {
        network.addVariable(sizes[i]);
        std::vector<Cost> own(sizes[i], i == special ? 0 : 3);
        own[best[i]] = 0;
        network.addCosts(i, own);
      }
      std::vector<Cost> costs;
      for (int i = 0; i < 2 * 2 * 40; ++i) {
        const Assignment at = {i / sizes[2] / sizes[1], i / sizes[2] % sizes[1],
                               i % sizes[2]};
        Assignment withBest = at;
        withBest[special] = 1;
        costs.push_back(at[special] == 1 ? 1 : withBest == best ? 5 : 0);
      }
      network.addFactor({{0, 1, 2}, network.getTables().intern(costs)});
      EXPECT_EQ(network.solve({0, 0, 0}).assignment, best);
    }
  }
}

// Sums of more costs than fit in 64 bits.
TEST(CostNetwork, ManyNeighboursMayForbidAValue) {
  for (int count : {1, 31, 33, 40, 64, 80}) {
    CostNetwork network;
    const auto variable = network.addVariable(2);
    network.addCosts(variable, {0, 7});
    for (int i = 0; i < count; ++i) {
      const auto neighbour = network.addVariable(2);
      network.addCosts(
          variable, neighbour,
          network.getTables().intern({forbidden, forbidden, 1, 0}));
    }
    auto solution = network.solve(Assignment(count + 1, 0));
    EXPECT_EQ(solution.assignment, Assignment(count + 1, 1));
    EXPECT_EQ(solution.cost, 7);
  }
}

TEST(CostNetwork, CostsThatAreAddedLaterCount) {
  CostNetwork network;
  network.addCosts(network.addVariable(2), {1, 2});
  EXPECT_THAT(network.solve({0}).assignment, ElementsAre(0));
  network.addCosts(0, {4, 1});
  EXPECT_THAT(network.solve({0}).assignment, ElementsAre(1));
}

TEST(CostNetwork, FindsTheLeastCostOfRandomNetworks) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 500; ++trial) {
    CostNetwork network = randomNetwork(random, 7, 2, 4);
    auto solution = network.solve(Assignment(7, 0));
    Cost least = leastCost(network);
    EXPECT_EQ(solution.cost, least) << "trial " << trial;
    EXPECT_EQ(network.cost(solution.assignment), solution.cost);
    EXPECT_TRUE(solution.isOptimal || least == forbidden);
  }
}

TEST(CostNetwork, SmallTablesGiveAnswersNearTheLeastCost) {
  std::mt19937 random(2);
  double sum = 0;
  int exact = 0, trials = 200;
  for (int trial = 0; trial < trials; ++trial) {
    CostNetwork network = randomNetwork(random, 8, 3, 4);
    CostNetwork::Options options;
    options.maxTable = 8;
    Assignment start(8, 0);
    auto solution = network.solve(start, options);
    Cost least = leastCost(network);
    EXPECT_LE(solution.cost, network.cost(start));
    EXPECT_GE(solution.cost, least);
    exact += solution.isOptimal;
    if (least < forbidden)
      sum += static_cast<double>(solution.cost - least) /
             static_cast<double>(least);
  }
  EXPECT_LT(exact, trials);
  RecordProperty("average_excess_percent", std::to_string(100 * sum / trials));
}

/// Some values of each variable, that of an assignment among them.
std::vector<std::vector<int32_t>> randomValues(std::mt19937 &random,
                                               const CostNetwork &network,
                                               const Assignment &assignment) {
  std::vector<std::vector<int32_t>> allowed(network.numVariables());
  for (size_t variable = 0; variable < allowed.size(); ++variable)
    for (int32_t value = 0;
         value < static_cast<int32_t>(network.numValues(variable)); ++value)
      if (value == assignment[variable] || random() % 2 == 0)
        allowed[variable].push_back(value);
  return allowed;
}

// Values given up late had other numbers where the first variables went.
TEST(CostNetwork, WhatIsGivenUpChangesNoEarlierAnswer) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 300; ++trial) {
    // A chain behind variables that small tables do not suffice for: given
    // these, each of its own is the best.
    CostNetwork network = randomNetwork(random, 8, 3, 4);
    const size_t numTied = network.numVariables();
    for (size_t variable = 0; variable < numTied; ++variable) {
      auto leaf = network.addVariable(4);
      std::vector<Cost> costs(4 * network.numValues(variable));
      for (Cost &cost : costs)
        cost = random() % 100;
      network.addCosts(static_cast<CostNetwork::Variable>(variable), leaf,
                       network.getTables().intern(costs));
    }
    CostNetwork::Options options;
    options.maxTable = 8;
    options.maxSweeps = 0;
    auto solution =
        network.solve(Assignment(network.numVariables(), 0), options);
    for (size_t leaf = numTied; leaf < network.numVariables(); ++leaf)
      for (int32_t value = 0; value < 4; ++value) {
        Assignment other = solution.assignment;
        other[leaf] = value;
        EXPECT_GE(network.cost(other), solution.cost) << "trial " << trial;
      }
  }
}

TEST(ReducedNetwork, FindsWhatTheWholeNetworkHas) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    CostNetwork network = randomNetwork(random, 8, trial % 3 + 1, 4);
    const size_t maxTable = size_t(1) << trial % 5;
    Assignment start(8, 0);
    ReducedNetwork reduced(network, start, maxTable);
    auto solution = reduced.solve(start, {});
    EXPECT_EQ(solution.cost, leastCost(network)) << "trial " << trial;
    EXPECT_EQ(solution.cost, network.cost(solution.assignment));
    // Among some values it finds at least as good a one: variables that are
    // worked out take any.
    auto allowed = randomValues(random, network, start);
    auto among = reduced.solveAmong(start, allowed, {});
    EXPECT_LE(among.cost, network.solveAmong(start, allowed, {}).cost);
    EXPECT_EQ(among.cost, network.cost(among.assignment));
    // From anywhere.
    for (Assignment::value_type &value : start)
      value = static_cast<int32_t>(random());
    for (size_t variable = 0; variable < start.size(); ++variable)
      start[variable] = static_cast<int32_t>(
          static_cast<uint32_t>(start[variable]) % network.numValues(variable));
    EXPECT_LE(reduced.solve(start, {}).cost, network.cost(start));
    EXPECT_EQ(reduced.solve(start, {}).cost, leastCost(network));
  }
}

TEST(ReducedNetwork, IsNeverWorseThanTheStartInSmallTables) {
  std::mt19937 random(6);
  CostNetwork::Options options;
  options.maxTable = 8;
  for (int trial = 0; trial < 300; ++trial) {
    CostNetwork network = randomNetwork(random, 9, 3, 5);
    Assignment start(9, 0);
    ReducedNetwork reduced(network, start, 8);
    auto solution = reduced.solve(start, options);
    EXPECT_LE(solution.cost, network.cost(start));
    EXPECT_GE(solution.cost, leastCost(network));
    EXPECT_EQ(solution.cost, network.cost(solution.assignment));
    auto among = reduced.solveAmong(
        solution.assignment, randomValues(random, network, solution.assignment),
        options);
    EXPECT_LE(among.cost, solution.cost);
    EXPECT_EQ(among.cost, network.cost(among.assignment));
  }
}

/// Equal layers in a chain: each has the same answer.
TEST(CostNetwork, EqualLayersGetEqualAnswers) {
  std::mt19937 random(3);
  std::vector<Cost> inner(36), next(36);
  for (size_t i = 0; i < 6; ++i)
    for (size_t j = 0; j < 6; ++j) {
      inner[i * 6 + j] = random() % 10 + (i == j ? 0 : 20);
      next[i * 6 + j] = i == j ? 0 : 40;
    }
  CostNetwork network;
  auto innerTable = network.getTables().intern(inner);
  auto nextTable = network.getTables().intern(next);
  int layers = 2000;
  CostNetwork::Variable last = -1;
  for (int layer = 0; layer < layers; ++layer) {
    auto first = network.addVariable(6), second = network.addVariable(6);
    network.addCosts(first, second, innerTable);
    if (last >= 0)
      network.addCosts(last, first, nextTable);
    last = second;
  }
  auto solution = network.solve(Assignment(network.numVariables(), 0));
  EXPECT_TRUE(solution.isOptimal);
  for (int layer = 1; layer + 2 < layers; ++layer)
    for (int i : {0, 1})
      EXPECT_EQ(solution.assignment[2 * layer + i],
                solution.assignment[2 * (layer + 1) + i]);
}

} // namespace
