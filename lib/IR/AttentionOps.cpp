//===- AttentionOps.cpp - Attention and its derivative --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers, sharding rules and the derivative. The two ops relate the same
// tensors, hence by the same code.
//
//===----------------------------------------------------------------------===//

#include "weft/IR/AttentionSizes.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/VjpBuilder.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;
using sharding::DimFactors;
using sharding::FactorKind;
using sharding::Linearity;
using sharding::ShardingRule;
using sharding::TensorFactors;

AttentionSizes AttentionSizes::of(RankedTensorType query,
                                  RankedTensorType key) {
  ArrayRef<int64_t> q = query.getShape(), k = key.getShape();
  return {q[0], q[1], k[1], q[2], k[2], q[3]};
}

Type weft::getAttentionSumType(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Queries and keys have rank 4 and fit.
static LogicalResult verifyOperands(Operation *op) {
  RankedTensorType query = typeOf(op->getOperand(0)),
                   key = typeOf(op->getOperand(1));
  if (query.getRank() != 4 || key.getRank() != 4)
    return op->emitOpError("query and key must have rank 4 (batch, position, "
                           "head, head size), got ")
           << query << " and " << key;
  if (typeOf(op->getOperand(2)) != key)
    return op->emitOpError("value must have the type of the key, ")
           << key << ", got " << typeOf(op->getOperand(2));
  if (query.getElementType() != key.getElementType())
    return op->emitOpError("query and key must have one element type, got ")
           << query.getElementType() << " and " << key.getElementType();
  AttentionSizes sizes = AttentionSizes::of(query, key);
  if (key.getDimSize(0) != sizes.batch)
    return op->emitOpError("query and key must have one batch, got ")
           << sizes.batch << " and " << key.getDimSize(0);
  if (key.getDimSize(3) != sizes.headSize)
    return op->emitOpError("heads of query and key must have one size, got ")
           << sizes.headSize << " and " << key.getDimSize(3);
  if (sizes.heads % sizes.keyHeads != 0)
    return op->emitOpError("heads of the query must be a multiple of the ")
           << sizes.keyHeads << " of the key, got " << sizes.heads;
  return success();
}

/// A result has the shape, and the element type `element` or that of sums.
static LogicalResult verifyResult(Operation *op, StringRef name,
                                  RankedTensorType type,
                                  ArrayRef<int64_t> shape, Type element) {
  Type sum = getAttentionSumType(element);
  if (type.getShape() == shape &&
      (type.getElementType() == element || type.getElementType() == sum))
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << name << " must be "
                             << RankedTensorType::get(shape, element);
  if (sum != element)
    error << " or " << RankedTensorType::get(shape, sum);
  return error << ", got " << type;
}

static LogicalResult verifyOperand(Operation *op, StringRef name, Value value,
                                   RankedTensorType wanted) {
  if (value.getType() == wanted)
    return success();
  return op->emitOpError() << name << " must be " << wanted << ", got "
                           << value.getType();
}

static LogicalResult verifyMask(Operation *op, Value diagonal, bool causal) {
  if (diagonal && !causal)
    return op->emitOpError("has a diagonal but is not causal; without "
                           "'causal' every key is seen");
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyOperands(*this)) ||
      failed(verifyMask(*this, getDiagonal(), getCausal())))
    return failure();
  RankedTensorType query = getQuery().getType();
  Type sum = getAttentionSumType(query.getElementType());
  return failure(
      failed(verifyResult(*this, "out", getOut().getType(), query.getShape(),
                          query.getElementType())) ||
      failed(verifyResult(*this, "logsumexp", getLogsumexp().getType(),
                          query.getShape().drop_back(), sum)));
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyOperands(*this)) ||
      failed(verifyMask(*this, getDiagonal(), getCausal())))
    return failure();
  RankedTensorType query = getQuery().getType(), key = getKey().getType();
  Type element = query.getElementType();
  auto row = RankedTensorType::get(query.getShape().drop_back(),
                                   getAttentionSumType(element));
  Value ofLogsumexp = getLogsumexpCotangent();
  return failure(
      failed(verifyOperand(*this, "out", getOut(), query)) ||
      failed(verifyOperand(*this, "logsumexp", getLogsumexp(), row)) ||
      failed(verifyOperand(*this, "out_cotangent", getOutCotangent(), query)) ||
      (ofLogsumexp &&
       failed(verifyOperand(*this, "logsumexp_cotangent", ofLogsumexp, row))) ||
      failed(verifyResult(*this, "query_cotangent",
                          getQueryCotangent().getType(), query.getShape(),
                          element)) ||
      failed(verifyResult(*this, "key_cotangent", getKeyCotangent().getType(),
                          key.getShape(), element)) ||
      failed(verifyResult(*this, "value_cotangent",
                          getValueCotangent().getType(), key.getShape(),
                          element)));
}

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

namespace {

/// The factors of queries, keys, and of numbers for each query and head.
struct AttentionFactors {
  ShardingRule rule;
  TensorFactors query, key, row;
};

} // namespace

/// A head of queries is (head of keys, index among the heads that read it).
/// Where there are as many queries as keys, both are split alike: the keys then
/// move around a ring. Otherwise each device needs all keys.
///
/// `summed`: the cotangents of keys and values are sums over the queries that
/// read them, hence over what only queries have.
static AttentionFactors factorsOf(Operation *op, bool summed) {
  AttentionSizes sizes =
      AttentionSizes::of(typeOf(op->getOperand(0)), typeOf(op->getOperand(1)));
  AttentionFactors f;
  FactorKind ofQueries =
      summed ? FactorKind::Reduction : FactorKind::PassThrough;
  bool isRing = sizes.queries == sizes.keys;
  int32_t batch = f.rule.addFactor(sizes.batch);
  int32_t queries = f.rule.addFactor(
      sizes.queries, isRing ? FactorKind::PassThrough : ofQueries);
  int32_t keyHeads = f.rule.addFactor(sizes.keyHeads);
  DimFactors heads = {keyHeads};
  if (sizes.heads != sizes.keyHeads)
    heads.push_back(f.rule.addFactor(sizes.heads / sizes.keyHeads, ofQueries));
  int32_t headSize =
      f.rule.addFactor(sizes.headSize, FactorKind::NeedReplication);
  int32_t keys =
      isRing ? queries
             : f.rule.addFactor(sizes.keys, FactorKind::NeedReplication);
  f.query = {{batch}, {queries}, heads, {headSize}};
  f.key = {{batch}, {keys}, {keyHeads}, {headSize}};
  f.row = {{batch}, {queries}, heads};
  return f;
}

ShardingRule AttentionOp::getShardingRule() {
  AttentionFactors f = factorsOf(*this, /*summed=*/false);
  f.rule.operands = {f.query, f.key, f.key};
  if (getDiagonal())
    f.rule.operands.push_back({});
  f.rule.results = {f.query, f.row};
  return f.rule;
}

Linearity AttentionOp::getLinearity() { return Linearity::NotLinear; }

ShardingRule AttentionGradOp::getShardingRule() {
  AttentionFactors f = factorsOf(*this, /*summed=*/true);
  f.rule.operands = {f.query, f.key, f.key, f.query, f.row, f.query};
  if (getLogsumexpCotangent())
    f.rule.operands.push_back(f.row);
  if (getDiagonal())
    f.rule.operands.push_back({});
  f.rule.results = {f.query, f.key, f.key};
  return f.rule;
}

Linearity AttentionGradOp::getLinearity() { return Linearity::NotLinear; }

//===----------------------------------------------------------------------===//
// Derivative
//===----------------------------------------------------------------------===//

/// A result that has the type of the sums, or its cotangent, as the derivative
/// reads it.
static Value rounded(Value value, Type element, VjpBuilder &b) {
  RankedTensorType type = typeOf(value);
  return type.getElementType() == element
             ? value
             : arith::TruncFOp::create(b, type.clone(element), value);
}

void AttentionOp::buildVjp(VjpBuilder &b) {
  Value ofOut = b.getCotangent(0), ofLogsumexp = b.getCotangent(1);
  if (!ofOut)
    ofOut = b.constant(0, getOut());
  RankedTensorType query = getQuery().getType(), key = getKey().getType();
  Value out = rounded(getOut(), query.getElementType(), b);
  ofOut = rounded(ofOut, query.getElementType(), b);
  auto grad = AttentionGradOp::create(b, TypeRange{query, key, key}, getQuery(),
                                      getKey(), getValue(), out, getLogsumexp(),
                                      ofOut, ofLogsumexp, getDiagonal(),
                                      getCausal(), getScale());
  for (auto [index, cotangent] : llvm::enumerate(grad.getResults()))
    b.addCotangent(index, cotangent);
}
