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

#include <limits>

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

namespace {
/// The labels as indices along the dimension; those below 0 count from its end.
struct Labels {
  Labels(CrossEntropyOp op, TensorBuilder &b);

  /// Where the index along the dimension is the label, or `other` for a label
  /// outside of the classes.
  Value at(int64_t other, Rows &rows, TensorBuilder &b);

  CrossEntropyOp op;
  Value classIndex, isClass;

private:
  Value constant(int64_t number, TensorBuilder &b);
};
} // namespace

Value Labels::constant(int64_t number, TensorBuilder &b) {
  RankedTensorType type = op.getLabels().getType();
  Attribute element = IntegerAttr::get(type.getElementType(), number);
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, element));
}

Labels::Labels(CrossEntropyOp op, TensorBuilder &b) : op(op) {
  using Predicate = arith::CmpIPredicate;
  Value given = op.getLabels();
  Value size = constant(op.getLogits().getType().getDimSize(op.getDim()), b);
  Value isNegative =
      arith::CmpIOp::create(b, Predicate::slt, given, constant(0, b));
  classIndex =
      b.select(isNegative, arith::AddIOp::create(b, given, size), given);
  isClass = arith::CmpIOp::create(b, Predicate::ult, classIndex, size);
}

Value Labels::at(int64_t other, Rows &rows, TensorBuilder &b) {
  RankedTensorType logits = op.getLogits().getType();
  Value label = b.select(isClass, classIndex, constant(other, b));
  Type index = op.getLabels().getType().getElementType();
  Value iota = IotaOp::create(b, logits.clone(index), op.getDim());
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, iota,
                               rows.spread(label));
}

/// A label that is no class has NaN as its total, and as its only term.
SmallVector<Value> CrossEntropyOp::decompose(TensorBuilder &b) {
  RankedTensorType type = getLogits().getType();
  Rows rows(b, type, getDim());
  Labels labels(*this, b);
  Value x = b.convert(getLogits(), computationTypeOf(*this));
  Value total = logSumExp(x, rows, b);
  Value nan = b.constant(std::numeric_limits<double>::quiet_NaN(), total);
  total = b.select(labels.isClass, total, nan);
  Value distance = b.sub(rows.spread(total), x);
  Value loss = rows.sum(b.keepWhere(labels.at(0, rows, b), distance));
  return {b.convert(loss, type.getElementType())};
}

/// dx = (exp(x - l(x)) - e) g, with e = 0 for a label that is no class.
void CrossEntropyOp::buildVjp(VjpBuilder &b) {
  RankedTensorType type = getLogits().getType();
  Rows rows(b, type, getDim());
  Type wide = computationTypeOf(*this);
  Labels labels(*this, b);
  Value x = b.convert(getLogits(), wide);
  Value g = rows.spread(b.convert(b.getCotangent(), wide));
  Value total = rows.spread(logSumExp(x, rows, b));
  Value p = math::ExpOp::create(b, b.sub(x, total));
  Value rest = b.select(labels.at(-1, rows, b), b.sub(p, b.constant(1, p)), p);
  b.addCotangent(0, b.convert(b.mul(rest, g), type.getElementType()));
}
