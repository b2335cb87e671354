//===- Activations.cpp - gelu, logistic, silu -----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// g is the cotangent of the result, x the operand, from which the derivatives
// recompute all else.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "weft/IR/VjpBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace weft;

static Value onePlus(Value x, TensorBuilder &b) {
  return b.add(x, b.constant(1, x));
}
static Value oneMinus(Value x, TensorBuilder &b) {
  return b.sub(b.constant(1, x), x);
}

/// The result of `function` in the type of the operand.
template <typename Op, typename Function>
static Value apply(Op op, Function function, TensorBuilder &b) {
  Value x = b.convert(op.getOperand(), computationTypeOf(op));
  return b.convert(function(x, b), op.getType().getElementType());
}

/// dx = g slope(x).
template <typename Op, typename Function>
static void pullBack(Op op, Function slope, VjpBuilder &b) {
  Type wide = computationTypeOf(op);
  Value x = b.convert(b.recomputeFrom(op.getOperand()), wide);
  Value dx = b.mul(b.convert(b.getCotangent(), wide), slope(x, b));
  b.addCotangent(0, b.convert(dx, op.getType().getElementType()));
}

//===----------------------------------------------------------------------===//
// gelu
//===----------------------------------------------------------------------===//

static constexpr double cubeWeight = 0.044715;
static const double sqrtOf2OverPi = std::sqrt(2 * llvm::numbers::inv_pi);
static const double sqrtOfHalf = std::sqrt(0.5);

static Value tanhOfGelu(Value x, TensorBuilder &b) {
  Value cube = b.mul(x, b.mul(x, x));
  Value sum = b.add(x, b.scale(cube, cubeWeight));
  return math::TanhOp::create(b, b.scale(sum, sqrtOf2OverPi));
}

/// The normal distribution's integral up to x; erfc keeps the digits of what is
/// left of it far below 0.
static Value integral(Value x, bool approximate, TensorBuilder &b) {
  if (approximate)
    return b.scale(onePlus(tanhOfGelu(x, b), b), 0.5);
  return b.scale(math::ErfcOp::create(b, b.scale(x, -sqrtOfHalf)), 0.5);
}

/// The derivative of the integral by x.
static Value density(Value x, TensorBuilder &b) {
  Value exponent = b.scale(b.mul(x, x), -0.5);
  return b.scale(math::ExpOp::create(b, exponent),
                 sqrtOfHalf * llvm::numbers::inv_sqrtpi);
}

/// x' t(x) = (1 - t^2) (1 + 3 w x^2) sqrt(2 / pi), halved.
static Value approximateDensity(Value x, TensorBuilder &b) {
  Value t = tanhOfGelu(x, b);
  Value inner = onePlus(b.scale(b.mul(x, x), 3 * cubeWeight), b);
  return b.mul(oneMinus(b.mul(t, t), b), b.scale(inner, 0.5 * sqrtOf2OverPi));
}

SmallVector<Value> GeluOp::decompose(TensorBuilder &b) {
  auto gelu = [&](Value x, TensorBuilder &b) {
    return b.mul(x, integral(x, getApproximate(), b));
  };
  return {apply(*this, gelu, b)};
}

void GeluOp::buildVjp(VjpBuilder &b) {
  auto slope = [&](Value x, TensorBuilder &b) {
    Value density =
        getApproximate() ? approximateDensity(x, b) : ::density(x, b);
    return b.add(integral(x, getApproximate(), b), b.mul(x, density));
  };
  pullBack(*this, slope, b);
}

//===----------------------------------------------------------------------===//
// logistic
//===----------------------------------------------------------------------===//

/// exp(-|x|), which is at most 1.
static Value decay(Value x, TensorBuilder &b) {
  return math::ExpOp::create(b, b.neg(math::AbsFOp::create(b, x)));
}

/// 1 / (1 + e) and, below 0, e / (1 + e), for e = exp(-|x|).
static Value logistic(Value x, TensorBuilder &b) {
  Value e = decay(x, b);
  Value isNegative = b.less(x, b.constant(0, x));
  return b.div(b.select(isNegative, e, b.constant(1, x)), onePlus(e, b));
}

SmallVector<Value> LogisticOp::decompose(TensorBuilder &b) {
  return {apply(*this, logistic, b)};
}

/// The derivative of the logistic function.
static Value logisticSlope(Value x, TensorBuilder &b) {
  return b.scale(SechSquaredOp::create(b, b.scale(x, 0.5)), 0.25);
}

void LogisticOp::buildVjp(VjpBuilder &b) { pullBack(*this, logisticSlope, b); }

SmallVector<Value> SechSquaredOp::decompose(TensorBuilder &b) {
  auto sechSquared = [](Value x, TensorBuilder &b) {
    Value e = decay(b.scale(x, 2), b), sum = onePlus(e, b);
    return b.div(b.scale(e, 4), b.mul(sum, sum));
  };
  return {apply(*this, sechSquared, b)};
}

void SechSquaredOp::buildVjp(VjpBuilder &b) {
  auto slope = [](Value x, TensorBuilder &b) {
    Value product =
        b.mul(SechSquaredOp::create(b, x), math::TanhOp::create(b, x));
    return b.scale(product, -2);
  };
  pullBack(*this, slope, b);
}

//===----------------------------------------------------------------------===//
// silu
//===----------------------------------------------------------------------===//

SmallVector<Value> SiluOp::decompose(TensorBuilder &b) {
  auto silu = [](Value x, TensorBuilder &b) {
    return b.mul(x, logistic(x, b));
  };
  return {apply(*this, silu, b)};
}

/// s + x s'.
void SiluOp::buildVjp(VjpBuilder &b) {
  auto slope = [](Value x, TensorBuilder &b) {
    Value s = LogisticOp::create(b, x);
    return b.add(s, b.mul(x, logisticSlope(x, b)));
  };
  pullBack(*this, slope, b);
}
