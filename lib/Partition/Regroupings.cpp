//===- Regroupings.cpp - Reshapes that move elements ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Regroupings.h"

#include "ReshardPrices.h"

#include <numeric>

using namespace mlir;
using namespace weft;
using namespace weft::sharding;

/// A map lists its segments: with more, elements are gathered.
static constexpr int64_t maxSegments = 64;

namespace {
/// Dimensions [first, end) of both sides that have the same elements.
struct Group {
  DimRange operand, result;
};
} // namespace

static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

/// The smallest groups, major to minor; those of one dimension on each side are
/// left out.
static SmallVector<Group> findEqualDims(ArrayRef<int64_t> operand,
                                        ArrayRef<int64_t> result) {
  SmallVector<Group> groups;
  auto numOperand = static_cast<int64_t>(operand.size()),
       numResult = static_cast<int64_t>(result.size());
  int64_t i = 0, j = 0;
  while (i < numOperand && j < numResult) {
    Group group{{i, i + 1}, {j, j + 1}};
    int64_t before = operand[i++], after = result[j++];
    while (before != after)
      if (before < after)
        before *= operand[i++];
      else
        after *= result[j++];
    group.operand.end = i;
    group.result.end = j;
    if (i - group.operand.first > 1 || j - group.result.first > 1)
      groups.push_back(group);
  }
  return groups;
}

/// What a device holds of a dimension is a part of as many segments as the
/// dimensions of the group before it have positions.
static std::vector<int64_t> segmentsOf(ArrayRef<int64_t> shape, DimRange group,
                                       int64_t dim) {
  int64_t count = product(shape.slice(group.first, dim - group.first));
  int64_t size = product(shape.slice(dim, group.end - dim));
  if (count > maxSegments)
    return {};
  return std::vector<int64_t>(count, size);
}

/// The group's dimensions get factors of their own, so that each side can be
/// split in its way.
static ShardingRule separate(ShardingRule rule, const Group &group,
                             ArrayRef<int64_t> operand,
                             ArrayRef<int64_t> result) {
  auto replace = [&](TensorFactors &tensor, DimRange dims,
                     ArrayRef<int64_t> shape) {
    for (int64_t dim = dims.first; dim < dims.end; ++dim)
      tensor[dim] = {rule.addFactor(shape[dim], FactorKind::NeedReplication)};
  };
  replace(rule.operands.front(), group.operand, operand);
  replace(rule.results.front(), group.result, result);
  return rule;
}

std::vector<Regrouping> weft::findRegroupings(RankedTensorType operandType,
                                              RankedTensorType resultType) {
  ArrayRef<int64_t> operand = operandType.getShape(),
                    result = resultType.getShape();
  std::vector<Regrouping> regroupings;
  if (product(operand) == 0)
    return regroupings;
  for (const Group &group : findEqualDims(operand, result)) {
    ShardingRule rule =
        separate(reshapeRule(operand, result), group, operand, result);
    for (int64_t dim = group.operand.first; dim < group.operand.end; ++dim)
      for (int64_t to = group.result.first; to < group.result.end; ++to) {
        std::vector<int64_t> before = segmentsOf(operand, group.operand, dim),
                             after = segmentsOf(result, group.result, to);
        if (operand[dim] == 1 || result[to] == 1 || before.empty() ||
            after.empty())
          continue;
        int64_t elements = before.size() * before.front();
        ElementMove move{
            dim, {std::move(before), std::move(after), {{0, 0, elements}}}};
        move.reshape = {to, group.operand, group.result};
        regroupings.push_back({std::move(move), rule});
      }
  }
  return regroupings;
}

std::optional<Regrouping> weft::findRegrouping(RankedTensorType operand,
                                               RankedTensorType result,
                                               const Sharding &before,
                                               const Sharding &after) {
  auto axesOf = [](const Sharding &sharding, int64_t dim) {
    return withoutUnitAxes(sharding.dims[dim].axes);
  };
  auto isOnly = [&](const Sharding &sharding, DimRange dims, int64_t dim) {
    for (int64_t other = dims.first; other < dims.end; ++other)
      if (other != dim && !axesOf(sharding, other).empty())
        return false;
    return true;
  };
  for (Regrouping &each : findRegroupings(operand, result)) {
    const ElementMove &move = each.move;
    const AxisList axes = axesOf(before, move.dim);
    int64_t members = numShards(axes);
    if (members > 1 && axesOf(after, move.resultDim()) == axes &&
        isOnly(before, move.operandDims(), move.dim) &&
        isOnly(after, move.resultDims(), move.resultDim()) &&
        move.map.dividedBy(members).mostSent(members) > 0)
      return std::move(each);
  }
  return std::nullopt;
}
