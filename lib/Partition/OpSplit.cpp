//===- OpSplit.cpp - How an op is split over the mesh ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpSplit.h"

#include "weft/Sharding/Projection.h"

using namespace mlir;
using namespace weft;
using namespace weft::sharding;

using Id = ReshardPrices::Id;

/// A matmul multiplies and adds at each point, any other op reads and writes a
/// number of 4 bytes.
static constexpr double flopsOfPoint = 2, bytesOfPoint = 8;

bool weft::mayBeSplit(const Factor &factor) {
  return factor.kind == FactorKind::PassThrough ||
         factor.kind == FactorKind::Reduction;
}

static bool overlaps(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
  return llvm::any_of(a, [&](const AxisRef &ref) {
    return llvm::any_of(
        b, [&](const AxisRef &other) { return ref.overlaps(other); });
  });
}

bool OpSplit::collides(int32_t factor, ArrayRef<AxisRef> axes) const {
  if (overlaps(axes, terms))
    return true;
  for (auto [other, taken] : llvm::enumerate(factors))
    if (static_cast<int32_t>(other) != factor && overlaps(axes, taken))
      return true;
  return false;
}

bool OpSplit::move(const ShardingRule &rule, const ElementMove &move,
                   const AxisList &axes) {
  if (collides(-1, axes))
    return false;
  moved.resize(rule.factors.size());
  auto split = [&](int32_t factor) {
    factors[factor] = axes;
    moved.set(factor);
  };
  split(move.resultFactor(rule));
  llvm::for_each(move.operandFactors(rule), split);
  if (move.isSummed()) {
    summed.resize(rule.factors.size());
    summed.set(move.resultFactor(rule));
  }
  return true;
}

bool OpSplit::moves(const ShardingRule &rule, const ElementMove &move) const {
  const AxisList &axes = factors[move.resultFactor(rule)];
  return !axes.empty() &&
         llvm::all_of(move.operandFactors(rule),
                      [&](int32_t factor) { return factors[factor] == axes; });
}

bool OpSplitter::isLookedUp(int32_t factor) const {
  auto has = [&](const TensorFactors &tensor) {
    return llvm::any_of(tensor, [&](const DimFactors &dim) {
      return llvm::is_contained(dim, factor);
    });
  };
  return rule.category == OpCategory::Lookup &&
         rule.factors[factor].kind == FactorKind::Reduction &&
         llvm::none_of(ArrayRef(rule.operands).drop_front(), has);
}

bool OpSplitter::movesData() const {
  return rule.category == OpCategory::DataFlow ||
         rule.category == OpCategory::Broadcast;
}

Sharding OpSplitter::shardingOf(const TensorFactors &tensor,
                                const OpSplit &split) const {
  TensorProjection projection;
  for (const DimFactors &dim : tensor)
    for (int32_t factor : dim) {
      FactorSharding &part = projection.factors.emplace_back();
      part.factor = factor;
      part.axes = split.factors[factor];
      part.closed = true;
    }
  return unproject(tensor, rule.factors, projection);
}

/// Adds `axes` to the unreduced ones, which are in mesh order.
static void addUnreduced(Sharding &sharding, ArrayRef<AxisRef> axes,
                         Reduction kind) {
  if (axes.empty())
    return;
  SmallVector<AxisRef, 4> all(sharding.unreduced.begin(),
                              sharding.unreduced.end());
  all.append(axes.begin(), axes.end());
  llvm::sort(all);
  sharding.unreduced.clear();
  for (const AxisRef &ref : all)
    appendMerging(sharding.unreduced, ref);
  sharding.unreducedKind = kind;
}

Id OpSplitter::operandNeed(size_t index, const OpSplit &split) const {
  Sharding need = shardingOf(rule.operands[index], split);
  if (split.holds(index))
    addUnreduced(need, split.terms, split.termsKind);
  return prices.intern(need);
}

Id OpSplitter::resultLeft(size_t index, const OpSplit &split) const {
  Sharding left = shardingOf(rule.results[index], split);
  addUnreduced(left, split.terms, split.termsKind);
  for (auto [number, axes] : llvm::enumerate(split.factors))
    if (split.isSummed(number) ||
        (rule.isReducedIn(index, number) && !split.isMoved(number)))
      addUnreduced(left, axes, rule.reduction);
  return prices.intern(left);
}

/// Elements of a part of the tensor; none of a table, of which those count that
/// are taken.
double OpSplitter::elementsOf(const TensorFactors &tensor,
                              const OpSplit &split) const {
  double elements = 1;
  for (const DimFactors &dim : tensor)
    for (int32_t factor : dim) {
      if (isLookedUp(factor))
        return 0;
      elements *= static_cast<double>(rule.factors[factor].size) /
                  numShards(split.factors[factor]);
    }
  return elements;
}

double OpSplitter::elementsBeside(const ElementMove &move,
                                  const OpSplit &split) const {
  auto count = [&](const TensorFactors &tensor, DimRange moved) {
    double elements = 1;
    for (auto [dim, list] : llvm::enumerate(tensor))
      if (!moved.contains(static_cast<int64_t>(dim)))
        for (int32_t factor : list)
          elements *= static_cast<double>(rule.factors[factor].size) /
                      numShards(split.factors[factor]);
    return elements;
  };
  if (move.windows)
    return count(rule.operands.front(), move.operandDims());
  return std::min(count(rule.operands.front(), move.operandDims()),
                  count(rule.results.front(), move.resultDims()));
}

/// A matmul walks all combinations of its factors, of which windows have those
/// of their elements and not that of what they are windows of; any other op
/// walks the largest of its tensors.
double OpSplitter::secondsToCompute(const OpSplit &split) const {
  bool isMatmul = rule.category != OpCategory::Lookup &&
                  rule.operands.size() > 1 &&
                  llvm::any_of(rule.factors, [](const Factor &factor) {
                    return factor.kind == FactorKind::Reduction;
                  });
  double points = 1;
  if (isMatmul) {
    for (auto [factor, axes] : llvm::zip_equal(rule.factors, split.factors))
      if (factor.kind != FactorKind::Permutation)
        points *= static_cast<double>(factor.size) / numShards(axes);
    return points * flopsOfPoint * prices.secondsPerFlop();
  }
  for (ArrayRef<TensorFactors> tensors :
       {ArrayRef(rule.operands), ArrayRef(rule.results)})
    for (const TensorFactors &tensor : tensors)
      points = std::max(points, elementsOf(tensor, split));
  return points * bytesOfPoint * prices.secondsPerByte();
}

bool OpSplitter::canBeSpelled(const OpSplit &split) const {
  for (ArrayRef<TensorFactors> tensors :
       {ArrayRef(rule.operands), ArrayRef(rule.results)})
    for (const TensorFactors &tensor : tensors) {
      Sharding sharding = shardingOf(tensor, split);
      for (auto [dim, held] : llvm::zip_equal(tensor, sharding.dims)) {
        int64_t shards = 1;
        for (int32_t factor : dim)
          shards *= numShards(split.factors[factor]);
        if (shards != numShards(held.axes))
          return false;
      }
    }
  return true;
}
