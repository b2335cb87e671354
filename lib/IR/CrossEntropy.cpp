//===- CrossEntropy.cpp - Cross entropy on labels -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With l(x) = log(sum(exp(x))) and e, which is 1 at the label and else 0, the
// loss is sum(e (l(x) - x)). Where x is split along the dimension that the sum
// goes along, this is a sum of terms like others: it may wait until the losses
// of all labels have been added up. A lookup of the logit at the label, which
// the loss subtracts from l(x), would have to be complete before.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "weft/IR/VjpBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weft;

/// log(sum(exp(x))) of each row. Rows that are all infinite have no distance to
/// their maximum.
static Value logSumExp(Value x, Rows &rows, TensorBuilder &b) {
  Value largest = rows.max(x);
  Value isFinite = math::IsFiniteOp::create(b, largest);
  Value shift = b.keepWhere(isFinite, largest);
  Value terms = math::ExpOp::create(b, b.sub(x, rows.spread(shift)));
  return b.add(math::LogOp::create(b, rows.sum(terms)), shift);
}

/// Where the place along the dimension is the label, clamped to the range.
static Value isAtLabel(CrossEntropyOp op, Rows &rows, TensorBuilder &b) {
  RankedTensorType type = op.getLabels().getType();
  auto constant = [&](int64_t number) -> Value {
    Attribute element = IntegerAttr::get(type.getElementType(), number);
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, element));
  };
  RankedTensorType logits = op.getLogits().getType();
  Value label = arith::MaxSIOp::create(b, op.getLabels(), constant(0));
  label = arith::MinSIOp::create(b, label,
                                 constant(logits.getDimSize(op.getDim()) - 1));
  Value place =
      IotaOp::create(b, logits.clone(type.getElementType()), op.getDim());
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, place,
                               rows.spread(label));
}

SmallVector<Value> CrossEntropyOp::decompose(TensorBuilder &b) {
  RankedTensorType type = getLogits().getType();
  Rows rows(b, type, getDim());
  Value x = b.convert(getLogits(), computationTypeOf(*this));
  Value distance = b.sub(rows.spread(logSumExp(x, rows, b)), x);
  Value loss = rows.sum(b.keepWhere(isAtLabel(*this, rows, b), distance));
  return {b.convert(loss, type.getElementType())};
}

/// dx = (exp(x - l(x)) - e) g.
void CrossEntropyOp::buildVjp(VjpBuilder &b) {
  RankedTensorType type = getLogits().getType();
  Rows rows(b, type, getDim());
  Type wide = computationTypeOf(*this);
  Value x = b.convert(getLogits(), wide);
  Value g = rows.spread(b.convert(b.getCotangent(), wide));
  Value total = rows.spread(logSumExp(x, rows, b));
  Value p = math::ExpOp::create(b, b.sub(x, total));
  Value rest =
      b.select(isAtLabel(*this, rows, b), b.sub(p, b.constant(1, p)), p);
  b.addCotangent(0, b.convert(b.mul(rest, g), type.getElementType()));
}
