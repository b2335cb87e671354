//===- CollectiveRows.cpp - A collective on flat tensors ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveRows.h"

#include "weft/IR/TensorTypes.h"

using namespace mlir;
using namespace weft;

static Value reshape(OpBuilder &b, Location loc, Value value,
                     ArrayRef<int64_t> shape) {
  RankedTensorType type = typeOf(value).clone(shape);
  if (type == value.getType())
    return value;
  return ReshapeOp::create(b, loc, type, value);
}

/// Swaps two neighbouring ranges of dimensions: [a, b, c] to [b, a, c].
static Value swapFront(OpBuilder &b, Location loc, Value value, int64_t first,
                       int64_t second, int64_t third) {
  if (first == 1 || second == 1)
    return value;
  value = reshape(b, loc, value, {first, second, third});
  return TransposeOp::create(b, loc, value, ArrayRef<int64_t>{1, 0, 2});
}

static int64_t count(Value value) { return typeOf(value).getNumElements(); }

CollectiveRows::CollectiveRows(CommunicationOpInterface op)
    : op(op), isWhole(op.isAllReduce()) {
  if (isWhole)
    return;
  int64_t dim = op.isAllGather() ? *op.getGatheredDim() : *op.getScatteredDim();
  ArrayRef<int64_t> from = typeOf(op->getOperand(0)).getShape(),
                    to = typeOf(op->getResult(0)).getShape();
  operandRows = std::max<int64_t>(from[dim] / to[dim], 1);
  resultRows = std::max<int64_t>(to[dim] / from[dim], 1);
  for (int64_t size : from.take_front(dim))
    before *= size;
}

Value CollectiveRows::spread(OpBuilder &b) const {
  Value value = op->getOperand(0);
  int64_t elements = count(value);
  if (operandRows > 1)
    value = swapFront(b, op->getLoc(), value, before, operandRows,
                      elements / before / operandRows);
  return reshape(b, op->getLoc(), value, shape(operandRows, elements));
}

Value CollectiveRows::take(OpBuilder &b, Value rows, int64_t start) const {
  int64_t elements = count(op->getResult(0));
  Location loc = op->getLoc();
  SmallVector<int64_t> limits = shape(resultRows, elements);
  SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
  starts.back() = start;
  limits.back() += start;
  Value value = SliceOp::create(b, loc, rows, starts, limits, strides);
  if (resultRows > 1)
    value = swapFront(b, loc, value, resultRows, before,
                      elements / before / resultRows);
  return reshape(b, loc, value, typeOf(op->getResult(0)).getShape());
}

int64_t CollectiveRows::numColumns() const {
  return count(op->getOperand(0)) / operandRows;
}

SmallVector<int64_t> CollectiveRows::shape(int64_t rows,
                                           int64_t elements) const {
  if (isWhole)
    return {elements};
  return {rows, elements / rows};
}
