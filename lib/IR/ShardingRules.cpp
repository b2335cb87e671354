//===- ShardingRules.cpp - Rules of the weft ops --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sharding rule and the linearity of every op of the graph.
//
//===----------------------------------------------------------------------===//

#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;
using sharding::FactorKind;
using sharding::Linearity;
using sharding::OpCategory;
using sharding::ShardingRule;
using sharding::TensorFactors;

/// Rule with a slot for each operand and the result; every dimension of the
/// result has a factor of its own, in order, so that factor number = result
/// dimension. Dimensions of the operands are still without factors.
static ShardingRule startFromResult(Operation *op, OpCategory category) {
  ShardingRule rule;
  rule.category = category;
  for (Value operand : op->getOperands())
    rule.operands.emplace_back(
        cast<RankedTensorType>(operand.getType()).getRank());
  TensorFactors &result = rule.results.emplace_back();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  for (int64_t size : type.getShape())
    result.push_back({rule.addFactor(size)});
  return rule;
}

/// Rule of an op whose operand and result have one shape.
static ShardingRule identityRule(RankedTensorType type) {
  return sharding::elementwiseRule(type.getShape(), {size_t(type.getRank())},
                                   /*numResults=*/1);
}

//===----------------------------------------------------------------------===//
// dot_general
//===----------------------------------------------------------------------===//

/// Factors in the order batching, lhs free, rhs free, contracting; the first
/// three are the result's dimensions.
ShardingRule DotGeneralOp::getShardingRule() {
  ShardingRule rule = startFromResult(*this, OpCategory::Other);
  TensorFactors &lhs = rule.operands[0], &rhs = rule.operands[1];
  int32_t factor = 0;
  for (auto [l, r] : llvm::zip_equal(getLhsBatching(), getRhsBatching())) {
    lhs[l] = rhs[r] = {factor};
    ++factor;
  }
  for (int64_t dim : getLhsFree())
    lhs[dim] = {factor++};
  for (int64_t dim : getRhsFree())
    rhs[dim] = {factor++};
  for (auto [l, r] : llvm::zip_equal(getLhsContracting(), getRhsContracting()))
    lhs[l] = rhs[r] = {rule.addFactor(getLhs().getType().getDimSize(l),
                                      FactorKind::Reduction)};
  return rule;
}

Linearity DotGeneralOp::getLinearity() { return Linearity::LinearInOne; }

//===----------------------------------------------------------------------===//
// broadcast, reshape, transpose
//===----------------------------------------------------------------------===//

ShardingRule BroadcastOp::getShardingRule() {
  ShardingRule rule = startFromResult(*this, OpCategory::Broadcast);
  RankedTensorType operand = getOperand().getType();
  for (auto [from, to] : llvm::enumerate(getDims())) {
    bool repeated = operand.getDimSize(from) != getType().getDimSize(to);
    rule.operands[0][from] = {repeated ? rule.addFactor(1)
                                       : static_cast<int32_t>(to)};
  }
  return rule;
}

Linearity BroadcastOp::getLinearity() { return Linearity::Linear; }

ShardingRule ReshapeOp::getShardingRule() {
  ShardingRule rule = sharding::reshapeRule(getOperand().getType().getShape(),
                                            getType().getShape());
  rule.category = OpCategory::DataFlow;
  return rule;
}

Linearity ReshapeOp::getLinearity() { return Linearity::Linear; }

ShardingRule TransposeOp::getShardingRule() {
  ShardingRule rule = startFromResult(*this, OpCategory::DataFlow);
  for (auto [to, from] : llvm::enumerate(getDims()))
    rule.operands[0][from] = {static_cast<int32_t>(to)};
  return rule;
}

Linearity TransposeOp::getLinearity() { return Linearity::Linear; }

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

ShardingRule ReduceOp::getShardingRule() {
  ShardingRule rule = startFromResult(*this, OpCategory::Other);
  rule.reduction = getKind();
  RankedTensorType operand = getOperand().getType();
  int32_t kept = 0;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    bool reduced = llvm::is_contained(getDims(), dim);
    rule.operands[0][dim] = {
        reduced ? rule.addFactor(operand.getDimSize(dim), FactorKind::Reduction)
                : kept++};
  }
  return rule;
}

Linearity ReduceOp::getLinearity() {
  return getKind() == sharding::Reduction::Sum ? Linearity::Linear
                                               : Linearity::NotLinear;
}

//===----------------------------------------------------------------------===//
// slice, concat
//===----------------------------------------------------------------------===//

/// A dimension that is not taken whole has a factor on each side, since the
/// sizes differ: shards of the result do not lie in the same shards of the
/// operand.
ShardingRule SliceOp::getShardingRule() {
  ShardingRule rule = startFromResult(*this, OpCategory::Other);
  RankedTensorType operand = getOperand().getType();
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    int64_t size = operand.getDimSize(dim);
    int32_t factor = dim;
    if (size != getType().getDimSize(dim)) {
      rule.factors[factor].kind = FactorKind::Permutation;
      factor = rule.addFactor(size, FactorKind::Permutation);
    }
    rule.operands[0][dim] = {factor};
  }
  return rule;
}

Linearity SliceOp::getLinearity() { return Linearity::Linear; }

/// Along the concatenated dimension every operand and the result have a factor
/// of their own.
ShardingRule ConcatOp::getShardingRule() {
  ShardingRule rule = startFromResult(*this, OpCategory::Other);
  int64_t concatDim = getDim();
  bool single = getOperands().size() == 1;
  if (!single)
    rule.factors[concatDim].kind = FactorKind::NeedReplication;
  for (auto [operand, factors] : llvm::zip_equal(getOperands(), rule.operands))
    for (auto [dim, size] : llvm::enumerate(
             cast<RankedTensorType>(operand.getType()).getShape())) {
      bool joined = static_cast<int64_t>(dim) == concatDim && !single;
      factors[dim] = {joined ? rule.addFactor(size, FactorKind::NeedReplication)
                             : static_cast<int32_t>(dim)};
    }
  return rule;
}

Linearity ConcatOp::getLinearity() { return Linearity::Linear; }

//===----------------------------------------------------------------------===//
// iota, constraint, reshard
//===----------------------------------------------------------------------===//

ShardingRule IotaOp::getShardingRule() {
  return startFromResult(*this, OpCategory::Other);
}

Linearity IotaOp::getLinearity() { return Linearity::NotLinear; }

ShardingRule ConstraintOp::getShardingRule() { return identityRule(getType()); }

Linearity ConstraintOp::getLinearity() { return Linearity::Linear; }

ShardingRule ReshardOp::getShardingRule() { return identityRule(getType()); }

Linearity ReshardOp::getLinearity() { return Linearity::Linear; }
