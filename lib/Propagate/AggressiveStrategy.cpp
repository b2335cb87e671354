//===- AggressiveStrategy.cpp - Each tensor takes what suits it -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorPropagation.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

namespace weft::propagation {

using namespace sharding;

namespace {

/// What the tensors agree on along a factor, and how much it matters.
struct Candidate {
  int32_t factor;
  AxisList axes;
  /// The largest tensor that already has the axes; the first of equals.
  int64_t sourceSize = 0;
  size_t source = 0;

  /// Order of service: a larger source first; along equal ones, for
  /// elementwise nodes, more shards first; then the earlier source and factor.
  auto key(bool elementwise) const {
    return std::tuple(-sourceSize, elementwise ? -numShards(axes) : 0, source,
                      factor);
  }
};

class Aggressive {
public:
  Aggressive(NodeProjection &node, const PropagationOptions &options)
      : node(node), options(options),
        fullAxesOf(options.conservative ? &node.mesh : nullptr) {}

  void propagate(llvm::ArrayRef<Direction> directions) {
    for (int32_t factor = 0; factor < int32_t(directions.size()); ++factor) {
      AxisList axes = compatibleAxes(node, factor, directions[factor]);
      if (!axes.empty())
        candidates.push_back({factor, std::move(axes)});
    }
    if (candidates.empty())
      return;
    for (Candidate &candidate : candidates)
      findSource(candidate);
    llvm::sort(candidates, [&](const Candidate &a, const Candidate &b) {
      return a.key(node.isElementwise()) < b.key(node.isElementwise());
    });
    for (size_t tensor = node.numOperands(); tensor < node.tensors.size();
         ++tensor)
      update(tensor);
    for (size_t tensor = 0; tensor < node.numOperands(); ++tensor)
      update(tensor);
  }

private:
  int64_t sizeAlongFactors(const TensorProjection &tensor) const {
    int64_t size = 1;
    for (const FactorSharding &sharding : tensor.factors)
      size *= node.rule.factors[sharding.factor].size;
    return size;
  }

  void findSource(Candidate &candidate) const {
    for (auto [index, tensor] : llvm::enumerate(node.tensors)) {
      const FactorSharding *own = tensor.find(candidate.factor);
      if (!own || !isPrefix(candidate.axes, own->axes))
        continue;
      int64_t size = sizeAlongFactors(tensor);
      if (size > candidate.sourceSize) {
        candidate.sourceSize = size;
        candidate.source = index;
      }
    }
  }

  void update(size_t tensor) {
    for (const Candidate &candidate : candidates)
      update(tensor, candidate);
  }

  void update(size_t tensor, const Candidate &candidate) {
    TensorProjection &projection = node.tensors[tensor];
    FactorSharding *own = projection.find(candidate.factor);
    if (!own)
      return;
    AxisList axes = candidate.axes;
    truncateAxes(axes, fullAxesOf, [&](AxisRef axis, int64_t before) {
      return prefixWithinFactor(axis, before, node, tensor,
                                own - projection.factors.begin(), options);
    });
    if (!isStrictPrefix(own->axes, axes))
      return;
    truncateAxes(axes, fullAxesOf, [&](AxisRef axis, int64_t) {
      return prefixAcrossFactors(axis, projection, candidate.factor);
    });
    if (node.isElementwise() && tensor < node.numOperands())
      limitToResult(axes, candidate.factor);
    if (!isStrictPrefix(own->axes, axes))
      return;
    own->axes = std::move(axes);
    node.changed[tensor] = true;
  }

  /// An operand of an elementwise node does not get more axes than the result
  /// could take: they would have to be gathered again at once.
  void limitToResult(AxisList &axes, int32_t factor) const {
    for (const TensorProjection &result :
         llvm::drop_begin(node.tensors, node.numOperands()))
      if (const FactorSharding *own = result.find(factor))
        if (isStrictPrefix(own->axes, axes))
          axes = own->axes;
  }

  NodeProjection &node;
  const PropagationOptions &options;
  const Mesh *fullAxesOf;
  llvm::SmallVector<Candidate, 4> candidates;
};

} // namespace

void propagateAggressive(NodeProjection &node,
                         llvm::ArrayRef<Direction> directions,
                         const PropagationOptions &options) {
  Aggressive(node, options).propagate(directions);
}

} // namespace weft::propagation
