//===- BasicStrategy.cpp - One outcome for all tensors of a factor --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorPropagation.h"

namespace weft::propagation {

using namespace sharding;

/// The prefix of `axis` that every tensor of `node` can take along `factor`. A
/// tensor without the factor must not use the axis otherwise.
static std::optional<AxisRef> prefixForAll(AxisRef axis, int64_t before,
                                           const NodeProjection &node,
                                           int32_t factor,
                                           const PropagationOptions &options) {
  std::optional<AxisRef> prefix = axis;
  for (size_t tensor = 0; prefix && tensor < node.tensors.size(); ++tensor) {
    const TensorProjection &projection = node.tensors[tensor];
    if (const FactorSharding *own = projection.find(factor))
      prefix = prefixWithinFactor(*prefix, before, node, tensor,
                                  own - projection.factors.begin(), options);
    if (prefix)
      prefix = prefixAcrossFactors(*prefix, projection, factor);
  }
  return prefix;
}

void propagateBasic(NodeProjection &node, llvm::ArrayRef<Direction> directions,
                    const PropagationOptions &options) {
  const Mesh *fullAxesOf = options.conservative ? &node.mesh : nullptr;
  for (int32_t factor = 0; factor < int32_t(directions.size()); ++factor) {
    AxisList axes = compatibleAxes(node, factor, directions[factor]);
    truncateAxes(axes, fullAxesOf, [&](AxisRef axis, int64_t before) {
      return prefixForAll(axis, before, node, factor, options);
    });
    if (axes.empty())
      continue;
    for (size_t tensor = 0; tensor < node.tensors.size(); ++tensor) {
      FactorSharding *own = node.tensors[tensor].find(factor);
      if (!own || !isStrictPrefix(own->axes, axes))
        continue;
      own->axes = axes;
      node.changed[tensor] = true;
    }
  }
}

} // namespace weft::propagation
