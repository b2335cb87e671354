//===- PropagationDriver.cpp - Rounds and visits until nothing changes ----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorPropagation.h"
#include "OpPriority.h"
#include "PendingNodes.h"
#include "Provenance.h"
#include "UserPriority.h"

#include "llvm/ADT/STLExtras.h"

namespace weft::propagation {

using namespace sharding;

namespace {

/// For each value the nodes that have it as operand or result, flat.
class NodesOfValues {
public:
  explicit NodesOfValues(const Graph &graph)
      : begin(graph.values.size() + 1, 0) {
    for (const Node &node : graph.nodes)
      for (ValueId id :
           llvm::concat<const ValueId>(node.operands, node.results))
        ++begin[id + 1];
    for (size_t id = 1; id < begin.size(); ++id)
      begin[id] += begin[id - 1];
    nodes.resize(begin.back());
    std::vector<int32_t> next(begin.begin(), begin.end() - 1);
    for (auto [number, node] : llvm::enumerate(graph.nodes))
      for (ValueId id :
           llvm::concat<const ValueId>(node.operands, node.results))
        nodes[next[id]++] = static_cast<NodeId>(number);
  }

  llvm::ArrayRef<NodeId> of(ValueId id) const {
    return llvm::ArrayRef(nodes).slice(begin[id], begin[id + 1] - begin[id]);
  }

private:
  std::vector<int32_t> begin;
  std::vector<NodeId> nodes;
};

class Driver {
public:
  Driver(const Mesh &mesh, Graph &graph, const PropagationOptions &options)
      : mesh(mesh), graph(graph), options(options), neighbours(graph),
        pending(graph.nodes.size()) {
    for (std::vector<int8_t> &each : cleanUpTo)
      each.assign(graph.nodes.size(), -1);
    for (const ShardingRule &rule : graph.rules)
      for (bool singleUse : {false, true})
        directions.emplace_back(rule, singleUse);
  }

  PropagationStatistics run() {
    UserPriorities priorities(graph);
    for (ValueId id = 0; id < ValueId(graph.values.size()); ++id)
      if (graph.values[id].sharding)
        recordAnnotation(graph, id, 0);
    for (int64_t each : priorities.all()) {
      priority = each;
      round = 0;
      for (ValueId id : priorities.restore(graph, priority)) {
        recordAnnotation(graph, id, priority);
        for (NodeId node : neighbours.of(id))
          cleanUpTo[0][node] = cleanUpTo[1][node] = -1;
      }
      runRounds();
    }
    return statistics;
  }

private:
  using Run = void (*)(NodeProjection &, llvm::ArrayRef<Direction>,
                       const PropagationOptions &);

  void runRounds() {
    for (round = 0; round < numRounds; ++round) {
      if (options.strategy != Strategy::Aggressive)
        runToEnd(propagateBasic, 0);
      if (options.strategy != Strategy::Basic)
        runToEnd(propagateAggressive, 1);
    }
  }

  /// Sweeps until nothing is left to visit. A second sweep is for the nodes
  /// that have to look at their own change.
  void runToEnd(Run run, size_t number) {
    strategy = number;
    do {
      for (NodeId node = graph.nodes.size(); node-- > 0;)
        pending.push(node);
      anotherSweep = false;
      while (!pending.empty())
        visit(static_cast<NodeId>(pending.pop()), run);
    } while (anotherSweep);
  }

  const RoundDirections &directionsOf(NodeId node) const {
    return directions[2 * graph.nodes[node].rule + graph.nodes[node].singleUse];
  }

  void visit(NodeId id, Run run) {
    if (cleanUpTo[strategy][id] >= directionsOf(id).lastGain(round))
      return;
    bool useful = mayChange(id);
    cleanUpTo[strategy][id] = round;
    if (!useful)
      return;
    ++statistics.visits;
    NodeProjection projection = projectNode(graph.nodes[id]);
    PropagationOptions nodeOptions = options;
    nodeOptions.conservative &= !graph.nodes[id].isTie;
    run(projection, directionsOf(id).inRound(round), nodeOptions);
    if (llvm::is_contained(projection.changed, true))
      update(id, projection);
  }

  /// Whether a dimension has axes that may move along a factor, and could not
  /// when the node was visited last.
  bool mayChange(NodeId id) const {
    const Node &node = graph.nodes[id];
    const ShardingRule &rule = graph.rules[node.rule];
    llvm::ArrayRef<Direction> now = directionsOf(id).inRound(round), before;
    if (int8_t clean = cleanUpTo[strategy][id]; clean >= 0)
      before = directionsOf(id).inRound(clean);
    auto gains = [&](int32_t factor) {
      return before.empty() ? now[factor] != Direction::None
                            : now[factor] != before[factor];
    };
    for (size_t tensor = 0; tensor < numTensors(node); ++tensor) {
      const Value &value = graph.values[tensorValue(node, tensor)];
      if (!value.sharding)
        continue;
      for (auto [factors, dim] :
           llvm::zip(tensorFactors(rule, tensor), value.sharding->dims))
        if (!dim.axes.empty() && llvm::any_of(factors, gains))
          return true;
    }
    return false;
  }

  /// NodeProjection::rooms of one tensor.
  static llvm::SmallVector<int64_t, 4>
  roomsOf(const TensorProjection &projected, const TensorFactors &tensor,
          const Value &value, const ShardingRule &rule) {
    llvm::SmallVector<int64_t, 4> rooms;
    for (auto [dim, factors] : llvm::enumerate(tensor))
      for (int32_t factor : factors)
        if (rooms.size() < projected.factors.size() &&
            projected.factors[rooms.size()].factor == factor)
          rooms.push_back(factors.size() == 1 ? value.shape[dim]
                                              : rule.factors[factor].size);
    return rooms;
  }

  NodeProjection projectNode(const Node &node) const {
    const ShardingRule &rule = graph.rules[node.rule];
    NodeProjection projection{mesh, rule, {}, {}, {}};
    for (size_t tensor = 0; tensor < numTensors(node); ++tensor) {
      const Value &value = graph.values[tensorValue(node, tensor)];
      const TensorFactors &factors = tensorFactors(rule, tensor);
      projection.tensors.push_back(project(
          factors, rule.factors, value.sharding ? &*value.sharding : nullptr));
      projection.rooms.push_back(
          roomsOf(projection.tensors.back(), factors, value, rule));
    }
    projection.changed.assign(projection.tensors.size(), false);
    return projection;
  }

  struct Change {
    ValueId value;
    size_t tensor;
    Sharding sharding;
  };

  /// Writes the changed tensors back. If the node has a value twice, the last
  /// occurrence counts, and the node is visited again in another sweep.
  void update(NodeId id, const NodeProjection &projection) {
    const Node &node = graph.nodes[id];
    const ShardingRule &rule = projection.rule;
    llvm::SmallVector<Change, 4> changes;
    bool again = false;
    for (size_t tensor = 0; tensor < projection.tensors.size(); ++tensor) {
      if (!projection.changed[tensor])
        continue;
      ValueId value = tensorValue(node, tensor);
      const TensorFactors &factors = tensorFactors(rule, tensor);
      Sharding after =
          unproject(factors, rule.factors, projection.tensors[tensor]);
      if (!differs(graph.values[value], after))
        continue;
      // A part of a dimension may be cut off again where it would be strided;
      // what is left may then move further.
      again |= llvm::any_of(
          factors, [](const DimFactors &dim) { return dim.size() > 1; });
      Change *same = llvm::find_if(
          changes, [&](const Change &each) { return each.value == value; });
      again |= same != changes.end();
      if (same != changes.end())
        *same = {value, tensor, std::move(after)};
      else
        changes.push_back({value, tensor, std::move(after)});
    }
    for (const Change &change : changes)
      recordStep(graph, {id, round, priority}, change.tensor, change.sharding);
    for (Change &change : changes) {
      graph.values[change.value].sharding = std::move(change.sharding);
      ++statistics.updates;
      markDirty(change.value, id);
    }
    if (again) {
      cleanUpTo[strategy][id] = -1;
      anotherSweep = true;
    }
  }

  static bool differs(const Value &value, const Sharding &after) {
    return value.sharding ? *value.sharding != after
                          : !after.isFullyReplicated();
  }

  /// The nodes of `value` have to look at it again, apart from `except`. Pushes
  /// the one that makes it, then its users from the last to the first: the
  /// first user is next.
  void markDirty(ValueId value, NodeId except) {
    llvm::ArrayRef<NodeId> nodes = neighbours.of(value);
    auto makes = [&](NodeId node) {
      return llvm::is_contained(graph.nodes[node].results, value) &&
             !graph.nodes[node].isTie;
    };
    for (NodeId node : nodes)
      if (makes(node))
        markDirtyNode(node, except);
    for (NodeId node : llvm::reverse(nodes))
      if (!makes(node))
        markDirtyNode(node, except);
  }

  void markDirtyNode(NodeId node, NodeId except) {
    cleanUpTo[1 - strategy][node] = -1;
    if (node == except)
      return;
    cleanUpTo[strategy][node] = -1;
    pending.push(node);
  }

  const Mesh &mesh;
  Graph &graph;
  const PropagationOptions &options;
  NodesOfValues neighbours;
  PendingNodes pending;
  /// Whether a node is to be visited again after all that are pending.
  bool anotherSweep = false;
  /// For each strategy and node the round whose directions the node has been
  /// visited with since its values changed; -1 if it has not.
  std::array<std::vector<int8_t>, 2> cleanUpTo;
  /// The one that runs: 0 basic, 1 aggressive.
  size_t strategy = 0;
  /// By rule, for nodes with several uses and with single uses.
  std::vector<RoundDirections> directions;
  int8_t round = 0;
  int64_t priority = 0;
  PropagationStatistics statistics;
};

} // namespace

PropagationStatistics propagate(const Mesh &mesh, Graph &graph,
                                const PropagationOptions &options) {
  return Driver(mesh, graph, options).run();
}

} // namespace weft::propagation
