//===- Propagation.h - Shardings spread over a graph ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Propagation completes the shardings of a program: from the few values that
// the user annotated, axes spread along the factors of ops until nothing
// changes. This is the algorithm on a graph of values and nodes, without MLIR;
// the pass `--weft-propagate` builds the graph from a module.
//
// Meaning of a sharding, and what may spread where: docs/Sharding.md. In short,
// user priorities are served in ascending order; for each, five rounds allow
// ever more (elementwise ops of single uses first, broadcasts forward last);
// within a round nodes are visited until none can change a value.
//
// Order. A sweep visits nodes in the order they were added to the graph. A
// change of a value makes its other nodes pending again; those behind the sweep
// run at once, the first user first and the node that makes the value last, and
// what these change runs before the rest of them. A node that has to look at
// its own change (it has a value twice, or cut a part of a dimension off) is
// for another sweep. Hence the outcome depends on the graph alone; it is the
// order of Shardy, so that where the first to claim an axis wins, the same one
// wins.
//
// Cost. A node is visited when one of its values changed since its last visit,
// or when a round allows it more and one of its dimensions could use that. A
// visit is linear in the factors of the node.
//
// Example: x: [{"data"}, {}] @ w: [{}, {"model"}] with one dot_general
//   Graph graph;
//   ValueId x = graph.addValue({8, 16}, xSharding);
//   ValueId w = graph.addValue({16, 32}, wSharding);
//   ValueId y = graph.addValue({8, 32});
//   graph.addNode(graph.addRule(dotRule), {x, w}, {y}, /*singleUse=*/true);
//   propagate(mesh, graph);
//   graph.values[y].sharding  // [{"data", ?}, {"model", ?}]
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PROPAGATE_PROPAGATION_H
#define WEFT_PROPAGATE_PROPAGATION_H

#include "weft/Sharding/Projection.h"

#include <unordered_map>

namespace weft::propagation {

using ValueId = int32_t;
using NodeId = int32_t;
using RuleId = int32_t;

/// Where an axis of a dimension came from. Following `from` leads through the
/// chain of nodes back to the annotation.
struct AxisOrigin {
  int32_t dim = 0;
  /// The axis, or the part of it, that came in this step.
  sharding::AxisRef axis;
  /// The value whose annotation mentioned the axis first.
  ValueId annotation = -1;
  /// The neighbour it came from and the node between; -1 in an annotation.
  ValueId from = -1;
  NodeId node = -1;
  int8_t round = 0;
  int64_t priority = 0;
};

struct Value {
  sharding::Shape shape;
  /// The annotation before propagation, the outcome afterwards; none if it was
  /// not annotated and nothing arrived.
  std::optional<sharding::Sharding> sharding;
  /// One entry for each axis of a dimension, in the order they arrived.
  llvm::SmallVector<AxisOrigin, 0> origins;
};

struct Node {
  RuleId rule;
  llvm::SmallVector<ValueId, 3> operands;
  llvm::SmallVector<ValueId, 1> results;
  /// Whether all operands that are not scalars are used by this node alone.
  bool singleUse = false;
  /// Whether this is a data-flow edge: it carries sub-axes in any case.
  bool isTie = false;
};

/// The tensors of a node, numbered through operands, then results.
inline size_t numTensors(const Node &node) {
  return node.operands.size() + node.results.size();
}
inline ValueId tensorValue(const Node &node, size_t tensor) {
  size_t operands = node.operands.size();
  return tensor < operands ? node.operands[tensor]
                           : node.results[tensor - operands];
}
inline const sharding::TensorFactors &
tensorFactors(const sharding::ShardingRule &rule, size_t tensor) {
  size_t operands = rule.operands.size();
  return tensor < operands ? rule.operands[tensor]
                           : rule.results[tensor - operands];
}

class Graph {
public:
  llvm::SmallVector<Value, 0> values;
  llvm::SmallVector<Node, 0> nodes;
  /// Equal rules are stored once.
  std::vector<sharding::ShardingRule> rules;

  ValueId addValue(llvm::ArrayRef<int64_t> shape,
                   std::optional<sharding::Sharding> sharding = std::nullopt);
  RuleId addRule(sharding::ShardingRule rule);
  NodeId addNode(RuleId rule, llvm::ArrayRef<ValueId> operands,
                 llvm::ArrayRef<ValueId> results, bool singleUse);
  /// A data-flow edge: the two are to be split alike. Allowed from the first
  /// round on.
  NodeId addTie(ValueId from, ValueId to);

private:
  std::unordered_multimap<size_t, RuleId> ruleByHash;
};

/// How conflicts between the tensors of a node are resolved.
enum class Strategy : uint8_t {
  /// A factor takes on all tensors the axes that suit every one of them.
  Basic,
  /// Each tensor takes as much as suits itself; larger sources go first.
  /// Tensors of a node may end split differently, which the partitioner
  /// repairs by collectives.
  Aggressive,
  /// In each round the first to the end, then the second.
  BasicThenAggressive,
};

struct PropagationOptions {
  Strategy strategy =
      Strategy::Aggressive; /// Spread full axes only, never sub-axes.
  bool conservative = false;
  /// Let axes spread to dimensions that they do not divide, as Shardy does.
  /// Dimensions that the user split unevenly stay so in either case.
  bool allowUneven = false;
};

struct PropagationStatistics {
  /// How often a strategy ran on a node.
  int64_t visits = 0;
  /// How often a value changed.
  int64_t updates = 0;
};

/// Completes the shardings of `graph.values`. Annotations are over `mesh`,
/// legal (sharding::checkSharding) and have the rank of their values.
PropagationStatistics propagate(const sharding::Mesh &mesh, Graph &graph,
                                const PropagationOptions &options = {});

/// Ends the propagation of `value`: every dimension closed, no axis named as
/// replicated; a value that nothing reached is replicated.
sharding::Sharding closedSharding(const Value &value);

} // namespace weft::propagation

#endif // WEFT_PROPAGATE_PROPAGATION_H
