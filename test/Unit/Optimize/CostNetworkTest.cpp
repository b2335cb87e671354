//===- CostNetworkTest.cpp - Tests of choices with costs ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Optimize/CostNetwork.h"

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
