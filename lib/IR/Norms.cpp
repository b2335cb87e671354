//===- Norms.cpp - layer_norm and rms_norm --------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// g is the cotangent of the result, x the operand, and n the normalized x, by
// which scale is multiplied. A derivative asks for the numbers of a row in the
// words of the decomposition, so that CSE joins the two; n it recomputes.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "weft/IR/VjpBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;

namespace {

/// What there is of each row: `mean`, null for none, and the `factor` that the
/// distance from it is multiplied by.
struct RowNumbers {
  Value mean, factor;
};

} // namespace

static Value centered(Value x, Value mean, Rows &rows, TensorBuilder &b) {
  return mean ? b.sub(x, rows.spread(mean)) : x;
}

static RowNumbers numbersOf(Value x, bool hasMean, double epsilon, Rows &rows,
                            TensorBuilder &b) {
  Value mean = hasMean ? rows.mean(x) : Value();
  Value distance = centered(x, mean, rows, b);
  Value variance = rows.mean(b.mul(distance, distance));
  Value sum = b.add(variance, b.constant(epsilon, variance));
  return {mean, math::RsqrtOp::create(b, sum)};
}

static Value normalized(Value x, const RowNumbers &numbers, Rows &rows,
                        TensorBuilder &b) {
  return b.mul(centered(x, numbers.mean, rows, b), rows.spread(numbers.factor));
}

template <typename Op>
static Value decomposeNorm(Op op, bool hasMean, Value bias, TensorBuilder &b) {
  Rows rows(b, op.getType(), op.getDims());
  Type wide = computationTypeOf(op);
  Value x = b.convert(op.getOperand(), wide);
  double epsilon = op.getEpsilon().convertToDouble();
  RowNumbers numbers = numbersOf(x, hasMean, epsilon, rows, b);
  Value r = normalized(x, numbers, rows, b);
  if (Value scale = op.getScale())
    r = b.mul(r, rows.spreadOverRows(b.convert(scale, wide)));
  if (bias)
    r = b.add(r, rows.spreadOverRows(b.convert(bias, wide)));
  return b.convert(r, op.getType().getElementType());
}

/// With h = g scale: dx = factor (h - mean(h) - n mean(h n)), without mean(h)
/// where no mean is subtracted; dscale = sum(g n).
template <typename Op> static void normVjp(Op op, bool hasMean, VjpBuilder &b) {
  Rows rows(b, op.getType(), op.getDims());
  Type wide = computationTypeOf(op);
  Value scale = op.getScale();
  RowNumbers numbers = numbersOf(b.convert(op.getOperand(), wide), hasMean,
                                 op.getEpsilon().convertToDouble(), rows, b);
  Value again = b.convert(b.recomputeFrom(op.getOperand()), wide);
  Value n = normalized(again, numbers, rows, b);
  Value g = b.convert(b.getCotangent(), wide);
  if (scale && b.wants(1))
    b.addCotangent(1, b.convert(rows.sumOverRows(b.mul(g, n)),
                                getElementTypeOrSelf(scale.getType())));
  if (!b.wants(0))
    return;
  Value h = scale ? b.mul(g, rows.spreadOverRows(b.convert(scale, wide))) : g;
  Value along = b.mul(n, rows.spread(rows.mean(b.mul(h, n))));
  Value rest = hasMean ? centered(h, rows.mean(h), rows, b) : h;
  Value dx = b.mul(b.sub(rest, along), rows.spread(numbers.factor));
  b.addCotangent(0, b.convert(dx, op.getType().getElementType()));
}

//===----------------------------------------------------------------------===//
// layer_norm
//===----------------------------------------------------------------------===//

SmallVector<Value> LayerNormOp::decompose(TensorBuilder &b) {
  return {decomposeNorm(*this, /*hasMean=*/true, getBias(), b)};
}

void LayerNormOp::buildVjp(VjpBuilder &b) {
  Value bias = getBias();
  unsigned number = getScale() ? 2 : 1;
  if (bias && b.wants(number)) {
    Rows rows(b, getType(), getDims());
    Value g = b.convert(b.getCotangent(), computationTypeOf(*this));
    b.addCotangent(number, b.convert(rows.sumOverRows(g),
                                     getElementTypeOrSelf(bias.getType())));
  }
  if (b.wants(0) || (getScale() && b.wants(1)))
    normVjp(*this, /*hasMean=*/true, b);
}

//===----------------------------------------------------------------------===//
// rms_norm
//===----------------------------------------------------------------------===//

SmallVector<Value> RmsNormOp::decompose(TensorBuilder &b) {
  return {decomposeNorm(*this, /*hasMean=*/false, /*bias=*/{}, b)};
}

void RmsNormOp::buildVjp(VjpBuilder &b) {
  normVjp(*this, /*hasMean=*/false, b);
}
