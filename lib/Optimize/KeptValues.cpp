//===- KeptValues.cpp - What to keep and what to recompute ----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Optimize/KeptValues.h"

#include <algorithm>

using namespace weft::optimize;

namespace {

/// The largest flow from node 0 to node 1 (Dinic, 1970).
class FlowNetwork {
public:
  explicit FlowNetwork(uint32_t nodes) : edges(nodes) {}

  void add(uint32_t from, uint32_t to, Cost capacity);
  void maximize();
  /// Whether more could flow from each node to node 1.
  std::vector<bool> findSinkSide() const;

private:
  static constexpr uint32_t source = 0, sink = 1;

  struct Edge {
    uint32_t to;
    /// The edge back, among those of `to`.
    uint32_t back;
    Cost capacity;
  };

  bool findDistances();
  void block();

  std::vector<std::vector<Edge>> edges;
  /// Of each node from the source, along edges that are not full.
  std::vector<int32_t> distance;
};

} // namespace

void FlowNetwork::add(uint32_t from, uint32_t to, Cost capacity) {
  edges[from].push_back({to, uint32_t(edges[to].size()), capacity});
  edges[to].push_back({from, uint32_t(edges[from].size() - 1), 0});
}

bool FlowNetwork::findDistances() {
  distance.assign(edges.size(), -1);
  distance[source] = 0;
  std::vector<uint32_t> reached{source};
  for (size_t i = 0; i < reached.size(); ++i)
    for (const Edge &edge : edges[reached[i]])
      if (edge.capacity > 0 && distance[edge.to] < 0) {
        distance[edge.to] = distance[reached[i]] + 1;
        reached.push_back(edge.to);
      }
  return distance[sink] >= 0;
}

/// Sends what fits along shortest paths. Without recursion: programs are deep.
void FlowNetwork::block() {
  std::vector<uint32_t> next(edges.size()), path;
  std::vector<Edge *> taken;
  path.push_back(source);
  while (!path.empty()) {
    uint32_t node = path.back();
    if (node == sink) {
      Cost flow = forbidden;
      for (const Edge *edge : taken)
        flow = std::min(flow, edge->capacity);
      size_t full = taken.size();
      for (size_t i = taken.size(); i-- > 0;) {
        taken[i]->capacity -= flow;
        edges[taken[i]->to][taken[i]->back].capacity += flow;
        if (taken[i]->capacity == 0)
          full = i;
      }
      taken.resize(full);
      path.resize(full + 1);
      continue;
    }
    auto leads = [&](const Edge &edge) {
      return edge.capacity > 0 && distance[edge.to] == distance[node] + 1;
    };
    while (next[node] < edges[node].size() && !leads(edges[node][next[node]]))
      ++next[node];
    if (next[node] < edges[node].size()) {
      Edge &edge = edges[node][next[node]];
      taken.push_back(&edge);
      path.push_back(edge.to);
      continue;
    }
    path.pop_back();
    if (!taken.empty()) {
      taken.pop_back();
      ++next[path.back()];
    }
  }
}

void FlowNetwork::maximize() {
  while (findDistances())
    block();
}

std::vector<bool> FlowNetwork::findSinkSide() const {
  std::vector<bool> isThere(edges.size());
  isThere[sink] = true;
  std::vector<uint32_t> reached{sink};
  for (size_t i = 0; i < reached.size(); ++i)
    for (const Edge &edge : edges[reached[i]])
      if (!isThere[edge.to] && edges[edge.to][edge.back].capacity > 0) {
        isThere[edge.to] = true;
        reached.push_back(edge.to);
      }
  return isThere;
}

std::vector<Availability>
weft::optimize::chooseKeptValues(const std::vector<KeepableValue> &values) {
  FlowNetwork network(2 + 2 * uint32_t(values.size()));
  auto before = [](size_t value) { return uint32_t(2 + 2 * value); };
  auto behind = [](size_t value) { return uint32_t(3 + 2 * value); };
  for (size_t i = 0; i < values.size(); ++i) {
    const KeepableValue &value = values[i];
    network.add(0, before(i), value.recomputing);
    network.add(before(i), behind(i), value.keeping);
    if (value.isNeeded)
      network.add(behind(i), 1, forbidden);
    if (value.recomputing < forbidden)
      for (uint32_t operand : value.operands)
        network.add(behind(operand), before(i), forbidden);
  }
  network.maximize();
  std::vector<bool> isLate = network.findSinkSide();
  std::vector<Availability> found(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    if (isLate[before(i)])
      found[i] = Availability::Recomputed;
    else if (isLate[behind(i)])
      found[i] = Availability::Kept;
  return found;
}
