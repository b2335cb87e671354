//===- FactorPropagation.cpp - Axes of one factor of one node -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorPropagation.h"

#include <numeric>

namespace weft::propagation {

using namespace sharding;

namespace {

/// The fold over tensors that finds what they agree on. Lists that continue
/// each other add up; the first disagreement ends the list for good.
class CompatibleAxes {
public:
  void combine(llvm::ArrayRef<AxisRef> list) {
    size_t common = std::min(axes.size(), list.size());
    for (size_t i = 0; i < common; ++i)
      if (!combineAt(i, list))
        return stop();
    if (canExpand)
      axes.append(list.begin() + common, list.end());
  }

  /// From here on tensors may only disagree.
  void stop() { canExpand = false; }

  AxisList take() { return std::move(axes); }

private:
  /// Returns false where the lists part; `axes` is then cut to what holds.
  bool combineAt(size_t i, llvm::ArrayRef<AxisRef> list) {
    if (axes[i] == list[i])
      return true;
    if (list[i].isPrefixOf(axes[i])) {
      if (i + 1 == list.size())
        return true;
      axes.truncate(i);
      axes.push_back(list[i]);
      return false;
    }
    if (axes[i].isPrefixOf(list[i])) {
      if (!canExpand || i + 1 < axes.size()) {
        axes.truncate(i + 1);
        return false;
      }
      axes[i] = list[i];
      return true;
    }
    axes.truncate(i);
    return false;
  }

  AxisList axes;
  bool canExpand = true;
};

} // namespace

AxisList compatibleAxes(const NodeProjection &node, int32_t factor,
                        Direction direction) {
  if (direction == Direction::None)
    return {};
  CompatibleAxes compatible;
  auto combine = [&](size_t begin, size_t end) {
    for (size_t tensor = begin; tensor < end; ++tensor)
      if (const FactorSharding *sharding = node.tensors[tensor].find(factor))
        compatible.combine(sharding->axes);
  };
  size_t operands = node.numOperands(), all = node.tensors.size();
  bool backward = direction == Direction::Backward;
  backward ? combine(operands, all) : combine(0, operands);
  if (direction != Direction::Both)
    compatible.stop();
  backward ? combine(0, operands) : combine(operands, all);
  return compatible.take();
}

void truncateAxes(
    AxisList &axes, const Mesh *fullAxesOf,
    llvm::function_ref<std::optional<AxisRef>(AxisRef, int64_t)> filter) {
  int64_t before = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    std::optional<AxisRef> kept = filter(axes[i], before);
    if (!kept || (fullAxesOf && !fullAxesOf->isFull(*kept)))
      return axes.truncate(i);
    if (*kept != axes[i]) {
      axes[i] = *kept;
      return axes.truncate(i + 1);
    }
    before *= kept->size;
  }
}

/// The prefix of `axis` without overlap with any of `used`.
static std::optional<AxisRef> prefixWithout(std::optional<AxisRef> axis,
                                            llvm::ArrayRef<AxisRef> used) {
  for (const AxisRef &ref : used)
    if (axis)
      axis = axis->prefixWithoutOverlap(ref);
  return axis;
}

/// The prefix of `axis` that divides what is left of `room` after a split by
/// `before`.
static std::optional<AxisRef> prefixThatDivides(AxisRef axis, int64_t before,
                                                int64_t room) {
  if (room % before != 0)
    return std::nullopt;
  int64_t common = std::gcd(room / before, axis.size);
  if (common == 1 && axis.size != 1)
    return std::nullopt;
  return AxisRef{axis.axis, axis.pre, common};
}

std::optional<AxisRef> prefixWithinFactor(AxisRef axis, int64_t before,
                                          const NodeProjection &node,
                                          size_t tensor, size_t index,
                                          const PropagationOptions &options) {
  const TensorProjection &projection = node.tensors[tensor];
  const FactorSharding &sharding = projection.factors[index];
  std::optional<AxisRef> prefix = prefixWithout(
      prefixWithout(axis, projection.replicated), projection.unreduced);
  if (!prefix)
    return std::nullopt;
  for (const AxisRef &current : sharding.axes)
    if (current.contains(*prefix))
      return prefix;
  // The sizes of what windows are of and of the windows differ: shards without
  // elements are none that a user has asked for.
  const Factor &factor = node.rule.factors[sharding.factor];
  if (factor.kind == FactorKind::Permutation &&
      before * prefix->size > factor.size)
    return std::nullopt;
  if (!sharding.closed && sharding.overflow.empty()) {
    if (sharding.minorMost && options.allowUneven)
      return prefix;
    if (auto dividing =
            prefixThatDivides(*prefix, before, node.rooms[tensor][index]))
      return dividing;
  }
  if (!sharding.axes.empty() && sharding.axes.back().isPrefixOf(*prefix))
    return sharding.axes.back();
  return std::nullopt;
}

std::optional<AxisRef> prefixAcrossFactors(AxisRef axis,
                                           const TensorProjection &tensor,
                                           int32_t factor) {
  std::optional<AxisRef> prefix = axis;
  for (const FactorSharding &other : tensor.factors) {
    prefix = prefixWithout(prefix, other.overflow);
    if (other.factor != factor)
      prefix = prefixWithout(prefix, other.axes);
  }
  return prefix;
}

} // namespace weft::propagation
