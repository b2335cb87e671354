//===- PropagationGraph.cpp - Values and nodes of a propagation -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Propagate/Propagation.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

namespace weft::propagation {

using namespace sharding;

ValueId Graph::addValue(llvm::ArrayRef<int64_t> shape,
                        std::optional<Sharding> sharding) {
  Value value;
  value.shape.assign(shape.begin(), shape.end());
  value.sharding = std::move(sharding);
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size()) - 1;
}

static size_t hashRule(const ShardingRule &rule) {
  llvm::hash_code hash = llvm::hash_combine(rule.category, rule.operands.size(),
                                            rule.results.size());
  for (const Factor &factor : rule.factors)
    hash = llvm::hash_combine(hash, factor.size, factor.kind, factor.blocked);
  for (const TensorFactors &tensor :
       llvm::concat<const TensorFactors>(rule.operands, rule.results))
    for (const DimFactors &dim : tensor)
      hash = llvm::hash_combine(
          hash, llvm::hash_combine_range(dim.begin(), dim.end()));
  return hash;
}

RuleId Graph::addRule(ShardingRule rule) {
  size_t hash = hashRule(rule);
  auto [begin, end] = ruleByHash.equal_range(hash);
  for (auto known = begin; known != end; ++known)
    if (rules[known->second] == rule)
      return known->second;
  rules.push_back(std::move(rule));
  RuleId id = static_cast<RuleId>(rules.size()) - 1;
  ruleByHash.emplace(hash, id);
  return id;
}

NodeId Graph::addNode(RuleId rule, llvm::ArrayRef<ValueId> operands,
                      llvm::ArrayRef<ValueId> results, bool singleUse) {
  Node node;
  node.rule = rule;
  node.operands.assign(operands.begin(), operands.end());
  node.results.assign(results.begin(), results.end());
  node.singleUse = singleUse;
  nodes.push_back(std::move(node));
  return static_cast<NodeId>(nodes.size()) - 1;
}

NodeId Graph::addTie(ValueId from, ValueId to) {
  const Shape &shape = values[from].shape;
  ShardingRule rule = elementwiseRule(shape, {shape.size()}, 1);
  rule.category = OpCategory::DataFlow;
  NodeId tie =
      addNode(addRule(std::move(rule)), {from}, {to}, /*singleUse=*/true);
  nodes[tie].isTie = true;
  return tie;
}

Sharding closedSharding(const Value &value) {
  if (!value.sharding)
    return Sharding::closed(value.shape.size());
  Sharding sharding = *value.sharding;
  sharding.replicated.clear();
  for (DimSharding &dim : sharding.dims) {
    dim.closed = true;
    dim.priority.reset();
  }
  return sharding;
}

} // namespace weft::propagation
