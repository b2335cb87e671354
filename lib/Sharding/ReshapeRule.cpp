//===- ReshapeRule.cpp - Common factors of two shapes ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both shapes are read major to minor. While the products of the factors read
// so far agree, the greatest common divisor of the current dimensions is a
// factor of both. Where they have none, each takes a factor of its own, and
// until the products agree again, the side that is behind takes more. Example:
//
//   4x6 -> 6x4     ([ij, ln])->([ik, mn]) {i=2, j=2, k=3, l=3, m=2, n=2}
//
// i is common (products 2, 2); then 2 and 3 remain of the first dimensions, and
// j (4, 2), k (4, 6), l (12, 6), m (12, 12) bring the products together again.
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/ShardingRule.h"

#include <numeric>

namespace weft::sharding {

namespace {

/// One shape, read major to minor.
class Side {
public:
  Side(llvm::ArrayRef<int64_t> shape) : shape(shape) {
    factors.resize(shape.size());
    remaining = shape.empty() ? 1 : shape.front();
  }

  bool atEnd() const { return dim == shape.size(); }
  bool atUnitDim() const { return !atEnd() && shape[dim] == 1; }

  /// Gives the current dimension a factor of `size`, and leaves the dimension
  /// once its factors multiply to its size.
  void take(int32_t factor, int64_t size) {
    factors[dim].push_back(factor);
    product *= size;
    remaining /= size;
    if (remaining == 1)
      remaining = ++dim == shape.size() ? 1 : shape[dim];
  }

  /// What the current dimension lacks; 1 after the last dimension.
  int64_t remaining = 1;
  /// Of all factors taken.
  int64_t product = 1;
  TensorFactors factors;

private:
  llvm::ArrayRef<int64_t> shape;
  size_t dim = 0;
};

} // namespace

/// Factors of its own for every dimension: nothing corresponds.
static TensorFactors unrelatedFactors(ShardingRule &rule,
                                      llvm::ArrayRef<int64_t> shape) {
  TensorFactors factors;
  for (int64_t size : shape)
    factors.push_back({rule.addFactor(size, FactorKind::NeedReplication)});
  return factors;
}

/// Gives the side that is behind, `side`, a factor of its own: what brings its
/// product to that of `other` if possible, else what its dimension does not
/// have in common with the other's.
static void catchUp(ShardingRule &rule, Side &side, const Side &other) {
  int64_t size = other.product / side.product;
  if (other.product % side.product != 0 || side.remaining % size != 0)
    size = side.remaining / std::gcd(side.remaining, other.remaining);
  if (size == 1)
    size = side.remaining;
  side.take(rule.addFactor(size, FactorKind::NeedReplication), size);
}

/// One step while both shapes have dimensions larger than 1 to read.
static void takeNext(ShardingRule &rule, Side &operand, Side &result) {
  if (operand.product < result.product)
    return catchUp(rule, operand, result);
  if (operand.product > result.product)
    return catchUp(rule, result, operand);
  int64_t common = std::gcd(operand.remaining, result.remaining);
  if (common > 1) {
    int32_t factor = rule.addFactor(common);
    operand.take(factor, common);
    return result.take(factor, common);
  }
  for (Side *side : {&operand, &result})
    side->take(rule.addFactor(side->remaining, FactorKind::NeedReplication),
               side->remaining);
}

ShardingRule reshapeRule(llvm::ArrayRef<int64_t> operandShape,
                         llvm::ArrayRef<int64_t> resultShape) {
  ShardingRule rule;
  rule.category = OpCategory::DataFlow;
  auto isEmpty = [](llvm::ArrayRef<int64_t> shape) {
    return llvm::is_contained(shape, 0);
  };
  if (isEmpty(operandShape) || isEmpty(resultShape)) {
    rule.operands.push_back(unrelatedFactors(rule, operandShape));
    rule.results.push_back(unrelatedFactors(rule, resultShape));
    return rule;
  }

  Side operand(operandShape), result(resultShape);
  while (!operand.atEnd() || !result.atEnd()) {
    if (operand.atUnitDim())
      operand.take(rule.addFactor(1), 1);
    else if (result.atUnitDim())
      result.take(rule.addFactor(1), 1);
    else
      takeNext(rule, operand, result);
  }
  rule.operands.push_back(std::move(operand.factors));
  rule.results.push_back(std::move(result.factors));
  return rule;
}

} // namespace weft::sharding
