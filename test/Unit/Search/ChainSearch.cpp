//===- ChainSearch.cpp - Every schedule of a small chain ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainSearch.h"

#include <functional>
#include <map>
#include <queue>

namespace weft {
namespace {

/// What is in memory: of each region whether its input is there, and how many
/// of its values (0 none, 1 the results of products, 2 all).
struct State {
  /// Regions whose derivative is to be taken: those before this one.
  int left;
  std::vector<char> inputs, values;

  bool operator<(const State &other) const {
    return std::tie(left, inputs, values) <
           std::tie(other.left, other.inputs, other.values);
  }
};

class Search {
public:
  Search(const std::vector<ChainRegion> &regions, int64_t limit,
         Dropping inputs)
      : regions(regions), limit(limit), inputs(inputs) {}

  std::optional<double> run();

private:
  int64_t bytesOf(const State &state) const;
  void visit(const State &state, double cost);
  void run(const State &state, double cost, int region);
  void reach(State state, double cost);

  const std::vector<ChainRegion> &regions;
  const int64_t limit;
  const Dropping inputs;
  std::map<State, double> costs;
  std::priority_queue<std::pair<double, State>,
                      std::vector<std::pair<double, State>>, std::greater<>>
      queue;
};

} // namespace

int64_t Search::bytesOf(const State &state) const {
  int64_t bytes = 0;
  for (size_t i = 0; i < regions.size(); ++i) {
    bytes += state.inputs[i] ? regions[i].inputBytes : 0;
    if (state.values[i])
      bytes +=
          state.values[i] == 2 ? regions[i].valueBytes : regions[i].dots->bytes;
  }
  return bytes;
}

void Search::reach(State state, double cost) {
  auto [it, isNew] = costs.try_emplace(state, cost);
  if (!isNew && it->second <= cost)
    return;
  it->second = cost;
  queue.push({cost, std::move(state)});
}

/// Runs a region; its output is kept or not.
void Search::run(const State &state, double cost, int region) {
  for (char values = state.values[region]; values <= 2; ++values) {
    if (values == 1 && !regions[region].dots)
      continue;
    bool completes = state.values[region] == 1 && values == 2;
    double work = completes ? regions[region].dots->work : regions[region].work;
    for (bool output : {false, true}) {
      State next = state;
      next.values[region] = values;
      if (output && region + 1 == int(regions.size()))
        continue;
      if (output)
        next.inputs[region + 1] = true;
      if (bytesOf(next) <= limit)
        reach(next, cost + work);
    }
  }
}

void Search::visit(const State &state, double cost) {
  for (int region = 0; region < int(regions.size()); ++region) {
    if (state.inputs[region])
      run(state, cost, region);
    if (region > 0 && state.inputs[region]) {
      State next = state;
      next.inputs[region] = false;
      if (inputs == Dropping::WithValues)
        next.values[region] = 0;
      reach(next, cost);
    }
    if (state.values[region]) {
      State next = state;
      next.values[region] = 0;
      reach(next, cost);
    }
  }
  int last = state.left - 1;
  if (last < 0 || !state.inputs[last] || state.values[last] != 2 ||
      bytesOf(state) + regions[last].besideBytes > limit)
    return;
  State next = state;
  next.left = last;
  next.values[last] = 0;
  reach(next, cost);
}

std::optional<double> Search::run() {
  State start;
  start.left = regions.size();
  start.inputs.assign(regions.size(), false);
  start.values.assign(regions.size(), 0);
  start.inputs[0] = true;
  if (bytesOf(start) > limit)
    return std::nullopt;
  reach(start, 0);
  while (!queue.empty()) {
    auto [cost, state] = queue.top();
    queue.pop();
    if (state.left == 0) {
      // Each region has to run once.
      for (const ChainRegion &region : regions)
        cost -= region.work;
      return cost;
    }
    if (cost <= costs.at(state))
      visit(state, cost);
  }
  return std::nullopt;
}

std::optional<double> searchChain(const std::vector<ChainRegion> &regions,
                                  int64_t limit, Dropping inputs) {
  return Search(regions, limit, inputs).run();
}

} // namespace weft
