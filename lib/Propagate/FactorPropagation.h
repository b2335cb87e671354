//===- FactorPropagation.h - Axes of one factor of one node -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What both strategies are made of: the axes that the tensors of a node agree
// on along a factor, and the truncation of such a candidate to what a tensor
// can take.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PROPAGATE_FACTORPROPAGATION_H
#define WEFT_LIB_PROPAGATE_FACTORPROPAGATION_H

#include "weft/Propagate/Propagation.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace weft::propagation {

/// Which way axes move along a factor. Bits, so that directions unite.
enum class Direction : uint8_t {
  None = 0,
  Forward = 1,
  Backward = 2,
  Both = 3
};

inline Direction operator|(Direction a, Direction b) {
  return Direction(uint8_t(a) | uint8_t(b));
}

/// Operands, then results, of a node along its factors.
struct NodeProjection {
  const sharding::Mesh &mesh;
  const sharding::ShardingRule &rule;
  llvm::SmallVector<sharding::TensorProjection, 4> tensors;
  /// For each tensor and each of its projected factors, the size that axes have
  /// to divide: of the factor, or of the dimension where the factor is alone in
  /// it (the two differ in a slice).
  llvm::SmallVector<llvm::SmallVector<int64_t, 4>, 4> rooms;
  /// By tensor: whether the strategy changed it.
  llvm::SmallVector<bool, 8> changed;

  size_t numOperands() const { return rule.operands.size(); }
  bool isElementwise() const {
    return rule.category == sharding::OpCategory::Elementwise;
  }
};

/// The longest list of axes that the tensors agree on along `factor`.
sharding::AxisList compatibleAxes(const NodeProjection &node, int32_t factor,
                                  Direction direction);

/// Shortens a candidate to a prefix that can be taken. `filter` is given each
/// axis with the product of the sizes before it and returns the axis, a prefix
/// of it, or nothing. A non-null `fullAxesOf` is the mesh of which only full
/// axes are taken.
void truncateAxes(sharding::AxisList &axes, const sharding::Mesh *fullAxesOf,
                  llvm::function_ref<std::optional<sharding::AxisRef>(
                      sharding::AxisRef, int64_t before)>
                      filter);

/// The prefix of `axis` that does not conflict with what `tensor` holds along
/// factor number `index` of its projection, and with its replicated and
/// unreduced axes.
std::optional<sharding::AxisRef>
prefixWithinFactor(sharding::AxisRef axis, int64_t before,
                   const NodeProjection &node, size_t tensor, size_t index,
                   const PropagationOptions &options);

/// The prefix of `axis` that no factor of `tensor` other than `factor` uses.
std::optional<sharding::AxisRef>
prefixAcrossFactors(sharding::AxisRef axis,
                    const sharding::TensorProjection &tensor, int32_t factor);

/// Runs a strategy once: lets the axes of every factor move in the direction
/// `directions[factor]`, and marks the tensors that changed.
void propagateBasic(NodeProjection &node, llvm::ArrayRef<Direction> directions,
                    const PropagationOptions &options);
void propagateAggressive(NodeProjection &node,
                         llvm::ArrayRef<Direction> directions,
                         const PropagationOptions &options);

} // namespace weft::propagation

#endif // WEFT_LIB_PROPAGATE_FACTORPROPAGATION_H
