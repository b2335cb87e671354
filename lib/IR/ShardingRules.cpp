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

#include "IdentityRule.h"

#include "weft/IR/WeftOps.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weft;
using sharding::DimFactors;
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
// slice, pad, concat
//===----------------------------------------------------------------------===//

/// Rule of an op that changes the size of some dimensions and keeps the others.
/// A dimension that changes has a factor on each side, the operand's of the
/// kind given: shards of the result do not lie in the same shards of the
/// operand.
static ShardingRule resizeRule(Operation *op, OpCategory category,
                               FactorKind kind) {
  ShardingRule rule = startFromResult(op, category);
  auto operand = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    int64_t size = operand.getDimSize(dim);
    int32_t factor = dim;
    if (size != result.getDimSize(dim)) {
      rule.factors[factor].kind = FactorKind::Permutation;
      factor = rule.addFactor(size, kind);
    }
    rule.operands[0][dim] = {factor};
  }
  return rule;
}

/// The kind of an operand's dimension of which elements are looked up: a device
/// that holds a part of it has zeros to offer for the others, which make a sum.
/// Elements of type i1 have none.
static FactorKind lookedUp(RankedTensorType operand) {
  return operand.getElementType().isInteger(1) ? FactorKind::NeedReplication
                                               : FactorKind::Reduction;
}

ShardingRule SliceOp::getShardingRule() {
  return resizeRule(*this, OpCategory::Lookup,
                    lookedUp(getOperand().getType()));
}

Linearity SliceOp::getLinearity() { return Linearity::Linear; }

ShardingRule PadOp::getShardingRule() {
  return resizeRule(*this, OpCategory::Other, FactorKind::Permutation);
}

/// A sum over devices would have the value as often as there are devices.
Linearity PadOp::getLinearity() {
  return matchPattern(getValue(), m_AnyZeroFloat()) ||
                 matchPattern(getValue(), m_Zero())
             ? Linearity::Linear
             : Linearity::NotLinear;
}

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
// gather, scatter_add
//===----------------------------------------------------------------------===//

/// Gives the dimensions of the indices the factors that what is taken has at
/// their place.
static TensorFactors factorsOfIndices(const GatherDims &dims,
                                      const TensorFactors &taken) {
  TensorFactors indices;
  for (int64_t takenDim : dims.getTakenDimsOfIndices())
    indices.push_back(taken[takenDim]);
  return indices;
}

ShardingRule GatherOp::getShardingRule() {
  ShardingRule rule = startFromResult(*this, OpCategory::Lookup);
  GatherDims dims = getGatherDims();
  RankedTensorType table = getOperand().getType();
  for (int64_t dim = 0; dim < table.getRank(); ++dim)
    rule.operands[0][dim] =
        dim == dims.dim
            ? DimFactors{rule.addFactor(table.getDimSize(dim), lookedUp(table))}
            : rule.results[0][dims.getTakenDim(dim)];
  rule.operands[1] = factorsOfIndices(dims, rule.results[0]);
  return rule;
}

Linearity GatherOp::getLinearity() { return Linearity::LinearInFirst; }

/// Of the result's dimensions only `dim` is none of the updates: a device that
/// holds a part of it leaves out what falls outside. The updates' dimensions
/// that are none of the result's are summed over.
ShardingRule ScatterAddOp::getShardingRule() {
  ShardingRule rule = startFromResult(*this, OpCategory::Lookup);
  GatherDims dims = getGatherDims();
  RankedTensorType updates = getUpdates().getType();
  TensorFactors &taken = rule.operands[0];
  for (int64_t dim = 0; dim < dims.tableRank; ++dim)
    if (dim != dims.dim)
      taken[dims.getTakenDim(dim)] = rule.results[0][dim];
  for (auto [dim, factors] : llvm::enumerate(taken))
    if (factors.empty())
      factors = {
          rule.addFactor(updates.getDimSize(dim), FactorKind::Reduction)};
  rule.operands[1] = factorsOfIndices(dims, taken);
  return rule;
}

Linearity ScatterAddOp::getLinearity() { return Linearity::LinearInFirst; }

//===----------------------------------------------------------------------===//
// iota, constraint, barrier, reshard
//===----------------------------------------------------------------------===//

ShardingRule IotaOp::getShardingRule() {
  return startFromResult(*this, OpCategory::Other);
}

Linearity IotaOp::getLinearity() { return Linearity::NotLinear; }

ShardingRule ConstraintOp::getShardingRule() { return identityRule(getType()); }

Linearity ConstraintOp::getLinearity() { return Linearity::Linear; }

/// The values that it waits for have nothing to do with the result.
ShardingRule BarrierOp::getShardingRule() {
  ShardingRule rule = identityRule(getType());
  for (Value value : getAfter()) {
    TensorFactors &factors = rule.operands.emplace_back();
    for (int64_t size : cast<RankedTensorType>(value.getType()).getShape())
      factors.push_back({rule.addFactor(size)});
  }
  return rule;
}

Linearity BarrierOp::getLinearity() { return Linearity::Linear; }

ShardingRule ReshardOp::getShardingRule() { return identityRule(getType()); }

Linearity ReshardOp::getLinearity() { return Linearity::Linear; }
