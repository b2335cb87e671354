//===- Provenance.cpp - Where the axes of a value came from ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Provenance.h"

#include "llvm/ADT/STLExtras.h"

namespace weft::propagation {

using namespace sharding;

/// The parts of `after` that `before`, a prefix of it, lacks.
static AxisList addedAxes(llvm::ArrayRef<AxisRef> before,
                          llvm::ArrayRef<AxisRef> after) {
  AxisList added;
  for (const AxisRef &ref : after) {
    const AxisRef *known = llvm::find_if(
        before, [&](const AxisRef &old) { return old.overlaps(ref); });
    if (known == before.end())
      added.push_back(ref);
    else if (known->isStrictPrefixOf(ref))
      added.push_back({ref.axis, known->next(), ref.size / known->size});
  }
  return added;
}

void recordAnnotation(Graph &graph, ValueId id, int64_t priority) {
  Value &value = graph.values[id];
  for (auto [index, dim] : llvm::enumerate(value.sharding->dims)) {
    AxisList known;
    for (const AxisOrigin &origin : value.origins)
      if (origin.dim == int32_t(index))
        known.push_back(origin.axis);
    for (const AxisRef &ref : addedAxes(known, dim.axes))
      value.origins.push_back({int32_t(index), ref, id, -1, -1, 0, priority});
  }
}

static bool shareFactor(const DimFactors &a, const DimFactors &b) {
  return llvm::any_of(
      a, [&](int32_t factor) { return llvm::is_contained(b, factor); });
}

/// Completes `origin` from the first tensor of the node that has the axis in a
/// dimension with one of `factors`.
static void findSource(const Graph &graph, const Node &node, size_t target,
                       const DimFactors &factors, AxisOrigin &origin) {
  const ShardingRule &rule = graph.rules[node.rule];
  for (size_t tensor = 0; tensor < numTensors(node); ++tensor) {
    if (tensor == target)
      continue;
    ValueId id = tensorValue(node, tensor);
    const TensorFactors &other = tensorFactors(rule, tensor);
    for (const AxisOrigin &known : graph.values[id].origins) {
      if (!known.axis.overlaps(origin.axis) ||
          size_t(known.dim) >= other.size() ||
          !shareFactor(other[known.dim], factors))
        continue;
      origin.from = id;
      origin.annotation = known.annotation;
      return;
    }
  }
}

void recordStep(Graph &graph, const Step &step, size_t tensor,
                const Sharding &after) {
  const Node &node = graph.nodes[step.node];
  const TensorFactors &factors = tensorFactors(graph.rules[node.rule], tensor);
  Value &value = graph.values[tensorValue(node, tensor)];
  for (auto [index, dim] : llvm::enumerate(after.dims)) {
    llvm::ArrayRef<AxisRef> before;
    if (value.sharding)
      before = value.sharding->dims[index].axes;
    for (const AxisRef &ref : addedAxes(before, dim.axes)) {
      AxisOrigin origin{int32_t(index), ref,        -1,           -1,
                        step.node,      step.round, step.priority};
      findSource(graph, node, tensor, factors[index], origin);
      value.origins.push_back(origin);
    }
  }
}

} // namespace weft::propagation
