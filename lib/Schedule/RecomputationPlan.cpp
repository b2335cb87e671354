//===- RecomputationPlan.cpp - What kernels recompute ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputationPlanner.h"

using namespace mlir;
using namespace weft;

/// What is written and read less and more, and computed more.
double
RecomputationPlanner::estimateSeconds(const RecomputationPlan &plan) const {
  double bytes = 0, seconds = 0;
  std::set<unsigned> recomputed, leaves;
  for (const RecomputationGroup &group : plan.groups) {
    std::set<unsigned> readBefore, written;
    for (const auto &[user, values] : group.uses)
      for (unsigned value : values) {
        recomputed.insert(value);
        (isBarrier(user) ? written : readBefore).insert(value);
      }
    for (unsigned value : group.values)
      seconds += secondsOf(value);
    for (unsigned value : readBefore)
      bytes -= double(nodes[value].bytes);
    for (unsigned value : written)
      bytes += double(nodes[value].bytes);
    for (unsigned leaf : group.leaves) {
      leaves.insert(leaf);
      bool isRead = llvm::any_of(users[leaf], [&](unsigned user) {
        return !isEarly(user) && !isBarrier(user) &&
               levels[user] == group.level;
      });
      if (!isRead)
        bytes += double(nodes[leaf].bytes);
    }
    if (group.isAlone)
      seconds += model.launch();
  }
  for (unsigned value : recomputed)
    if (!isStoredEarly(value))
      bytes -= double(nodes[value].bytes);
  for (unsigned leaf : leaves)
    if (!isStoredEarly(leaf))
      bytes += double(nodes[leaf].bytes);
  return seconds + bytes * model.secondsPerByte();
}

std::optional<RecomputationPlan>
RecomputationPlanner::plan(double mostSeconds) {
  /// From what saves most to what costs least.
  constexpr Exchange exchanges[] = {{0.125, 0.125}, {0.5, 0.5}, {1, -1}};
  constexpr double leastGain = 0.002;
  for (const Exchange &exchange : exchanges) {
    choose(exchange);
    RecomputationPlan plan = formGroups();
    if (plan.groups.empty())
      continue;
    plan.before = peak;
    std::vector<int64_t> alive = countAlive(plan);
    plan.after = *llvm::max_element(alive);
    plan.seconds = estimateSeconds(plan);
    if (double(plan.after) <= double(peak) * (1 - leastGain) &&
        plan.seconds <= mostSeconds)
      return plan;
  }
  return std::nullopt;
}

std::optional<RecomputationPlan>
weft::planRecomputation(const BlockGraph &graph, const cost::CostModel &model,
                        double mostSeconds, bool onlyLarge) {
  return graph.nodes.empty()
             ? std::nullopt
             : RecomputationPlanner(graph, model, onlyLarge).plan(mostSeconds);
}
