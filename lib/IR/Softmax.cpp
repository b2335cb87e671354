//===- Softmax.cpp - Softmax and its logarithm ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// g is the cotangent of the result r, x the operand. Both derivatives use r
// alone.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "weft/IR/VjpBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace weft;

/// x minus the maximum of its row, so that no exponential overflows.
static Value shifted(Value x, Rows &rows, TensorBuilder &b) {
  return b.sub(x, rows.spread(rows.max(x)));
}

SmallVector<Value> SoftmaxOp::decompose(TensorBuilder &b) {
  Rows rows(b, getType(), getDims());
  Value x = b.convert(getOperand(), computationTypeOf(*this));
  Value terms = math::ExpOp::create(b, shifted(x, rows, b));
  Value r = b.div(terms, rows.spread(rows.sum(terms)));
  return {b.convert(r, getType().getElementType())};
}

/// dx = r (g - sum(g r)).
void SoftmaxOp::buildVjp(VjpBuilder &b) {
  Rows rows(b, getType(), getDims());
  Type wide = computationTypeOf(*this);
  Value g = b.convert(b.getCotangent(), wide), r = b.convert(getResult(), wide);
  Value mean = rows.spread(rows.sum(b.mul(g, r)));
  Value dx = b.mul(r, b.sub(g, mean));
  b.addCotangent(0, b.convert(dx, getType().getElementType()));
}

SmallVector<Value> LogSoftmaxOp::decompose(TensorBuilder &b) {
  Rows rows(b, getType(), getDims());
  Value x = shifted(b.convert(getOperand(), computationTypeOf(*this)), rows, b);
  Value total = rows.sum(math::ExpOp::create(b, x));
  Value r = b.sub(x, rows.spread(math::LogOp::create(b, total)));
  return {b.convert(r, getType().getElementType())};
}

/// dx = g - exp(r) sum(g).
void LogSoftmaxOp::buildVjp(VjpBuilder &b) {
  Rows rows(b, getType(), getDims());
  Type wide = computationTypeOf(*this);
  Value g = b.convert(b.getCotangent(), wide), r = b.convert(getResult(), wide);
  Value share = b.mul(math::ExpOp::create(b, r), rows.spread(rows.sum(g)));
  b.addCotangent(0, b.convert(b.sub(g, share), getType().getElementType()));
}
