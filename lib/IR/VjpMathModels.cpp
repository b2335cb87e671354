//===- VjpMathModels.cpp - Derivatives of the ops of math -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// g is the cotangent of the result r = f(x). Derivatives use r where it is
// cheaper than x, which also lets x be forgotten.
//
//===----------------------------------------------------------------------===//

#include "AttachVjp.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;

static Value square(VjpBuilder &b, Value x) { return b.mul(x, x); }

/// 1 + x, 1 - x.
static Value onePlus(VjpBuilder &b, Value x) {
  return b.add(x, b.constant(1, x));
}
static Value oneMinus(VjpBuilder &b, Value x) {
  return b.sub(b.constant(1, x), x);
}

//===----------------------------------------------------------------------===//
// Exponentials and powers
//===----------------------------------------------------------------------===//

static Value expVjp(VjpBuilder &b, Value g, Value, Value r) {
  return b.mul(g, r);
}

static Value exp2Vjp(VjpBuilder &b, Value g, Value, Value r) {
  return b.mul(g, b.scale(r, llvm::numbers::ln2));
}

/// Not r + 1, which has no digits where r is near -1.
static Value expm1Vjp(VjpBuilder &b, Value g, Value x, Value) {
  return b.mul(g, math::ExpOp::create(b, x));
}

static Value logVjp(VjpBuilder &b, Value g, Value x, Value) {
  return b.div(g, x);
}

static Value log2Vjp(VjpBuilder &b, Value g, Value x, Value) {
  return b.div(b.scale(g, llvm::numbers::log2e), x);
}

static Value log10Vjp(VjpBuilder &b, Value g, Value x, Value) {
  return b.div(b.scale(g, llvm::numbers::log10e), x);
}

static Value log1pVjp(VjpBuilder &b, Value g, Value x, Value) {
  return b.div(g, onePlus(b, x));
}

static Value sqrtVjp(VjpBuilder &b, Value g, Value, Value r) {
  return b.div(b.scale(g, 0.5), r);
}

/// r' = -r^3 / 2.
static Value rsqrtVjp(VjpBuilder &b, Value g, Value, Value r) {
  Value cube = b.mul(square(b, r), r);
  return b.mul(g, b.scale(cube, -0.5));
}

/// r' = 1 / (3 r^2). The second derivative is infinite at 0, where that of this
/// quotient itself would be NaN.
static Value cbrtVjp(VjpBuilder &b, Value g, Value, Value r) {
  Value inverse = b.div(b.constant(1, r), r);
  return b.mul(g, b.scale(square(b, inverse), 1.0 / 3));
}

/// x^y by x is y x^(y - 1), and 0 where y is 0, whatever x; by y it is
/// r log x, and 0 where x is 0.
static void powVjp(math::PowFOp op, VjpBuilder &b) {
  Value g = b.getCotangent(), x = op.getLhs(), y = op.getRhs();
  if (b.wants(0)) {
    Value zero = b.constant(0, y), isFlat = b.equal(y, zero);
    Value exponent = b.select(isFlat, zero, b.sub(y, b.constant(1, y)));
    Value power = b.createOrFold<math::PowFOp>(x, exponent);
    b.addCotangent(0, b.mul(g, b.mul(y, power)));
  }
  if (b.wants(1)) {
    Value isZero = b.equal(x, b.constant(0, x));
    Value base = b.select(isZero, b.constant(1, x), x);
    Value log = b.createOrFold<math::LogOp>(base);
    b.addCotangent(1, b.mul(g, b.mul(op.getResult(), log)));
  }
}

/// As above for integer exponents.
static void integerPowVjp(math::FPowIOp op, VjpBuilder &b) {
  Value x = op.getLhs(), n = op.getRhs();
  auto type = cast<RankedTensorType>(n.getType());
  auto constant = [&](int64_t number) {
    auto element = IntegerAttr::get(type.getElementType(), number);
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, Attribute(element)));
  };
  Value zero = constant(0);
  Value isFlat = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, n, zero);
  Value below = b.createOrFold<arith::SubIOp>(n, constant(1));
  Value power = math::FPowIOp::create(b, x, b.select(isFlat, zero, below));
  Value factor = arith::SIToFPOp::create(b, x.getType(), n);
  b.addCotangent(0, b.mul(b.getCotangent(), b.mul(factor, power)));
}

//===----------------------------------------------------------------------===//
// Trigonometric and hyperbolic functions
//===----------------------------------------------------------------------===//

static Value sinVjp(VjpBuilder &b, Value g, Value x, Value) {
  return b.mul(g, math::CosOp::create(b, x));
}

static Value cosVjp(VjpBuilder &b, Value g, Value x, Value) {
  return b.neg(b.mul(g, math::SinOp::create(b, x)));
}

/// (sin, cos)' = (cos, -sin).
static void sincosVjp(math::SincosOp op, VjpBuilder &b) {
  if (Value g = b.getCotangent(0))
    b.addCotangent(0, b.mul(g, op.getCos()));
  if (Value g = b.getCotangent(1))
    b.addCotangent(0, b.neg(b.mul(g, op.getSin())));
}

static Value tanVjp(VjpBuilder &b, Value g, Value, Value r) {
  return b.mul(g, onePlus(b, square(b, r)));
}

static Value sinhVjp(VjpBuilder &b, Value g, Value x, Value) {
  return b.mul(g, math::CoshOp::create(b, x));
}

static Value coshVjp(VjpBuilder &b, Value g, Value x, Value) {
  return b.mul(g, math::SinhOp::create(b, x));
}

static Value tanhVjp(VjpBuilder &b, Value g, Value, Value r) {
  return b.mul(g, oneMinus(b, square(b, r)));
}

/// 1 - x^2, rounded once: it cancels near 1 and -1, and the derivative of
/// (1 - x) (1 + x) does near 0.
static Value oneMinusSquare(VjpBuilder &b, Value x) {
  return math::FmaOp::create(b, b.neg(x), x, b.constant(1, x));
}

static Value asinVjp(VjpBuilder &b, Value g, Value x, Value) {
  return b.mul(g, math::RsqrtOp::create(b, oneMinusSquare(b, x)));
}

static Value acosVjp(VjpBuilder &b, Value g, Value x, Value r) {
  return b.neg(asinVjp(b, g, x, r));
}

/// The larger of |x| and |y|, as a constant: dividing by it keeps squares in
/// the range of the type. It is finite, so that infinity stays what it is.
static Value magnitude(VjpBuilder &b, Value x, Value y) {
  Value larger = arith::MaximumFOp::create(b, math::AbsFOp::create(b, x),
                                           math::AbsFOp::create(b, y));
  auto type = cast<FloatType>(getElementTypeOrSelf(x.getType()));
  APFloat largest = APFloat::getLargest(type.getFloatSemantics());
  Value limit = b.constant(largest.convertToDouble(), x);
  return StopGradientOp::create(b, arith::MinimumFOp::create(b, larger, limit));
}

/// 1 / (1 + x^2), each term divided by the larger one.
static Value atanVjp(VjpBuilder &b, Value g, Value x, Value) {
  Value m = magnitude(b, x, b.constant(1, x));
  Value one = b.div(b.constant(1, x), m);
  Value sum = b.add(square(b, one), square(b, b.div(x, m)));
  return b.mul(g, b.mul(b.div(one, sum), one));
}

/// 1 / sqrt(1 + x^2), each term divided by the larger one.
static Value asinhVjp(VjpBuilder &b, Value g, Value x, Value) {
  Value m = magnitude(b, x, b.constant(1, x));
  Value one = b.div(b.constant(1, x), m);
  Value sum = b.add(square(b, one), square(b, b.div(x, m)));
  return b.mul(g, b.mul(math::RsqrtOp::create(b, sum), one));
}

/// 1 / sqrt(x - 1) / sqrt(x + 1): x^2 - 1 would cancel near 1, and the product
/// leaves the range.
static Value acoshVjp(VjpBuilder &b, Value g, Value x, Value) {
  Value below = math::RsqrtOp::create(b, b.sub(x, b.constant(1, x)));
  return b.mul(g, b.mul(below, math::RsqrtOp::create(b, onePlus(b, x))));
}

static Value atanhVjp(VjpBuilder &b, Value g, Value x, Value) {
  return b.div(g, oneMinusSquare(b, x));
}

/// The angle of the point (x, y) by y is x / (x^2 + y^2), by x -y / (...): that
/// of a point at a distance of about 1, divided by the distance.
static void atan2Vjp(math::Atan2Op op, VjpBuilder &b) {
  Value m = magnitude(b, op.getLhs(), op.getRhs());
  Value y = b.div(op.getLhs(), m), x = b.div(op.getRhs(), m);
  Value sum = b.add(square(b, x), square(b, y));
  Value quotient = b.div(b.div(b.getCotangent(), sum), m);
  if (b.wants(0))
    b.addCotangent(0, b.mul(quotient, x));
  if (b.wants(1))
    b.addCotangent(1, b.neg(b.mul(quotient, y)));
}

//===----------------------------------------------------------------------===//
// The error function
//===----------------------------------------------------------------------===//

/// 2 / sqrt(pi) exp(-x^2).
static Value erfVjp(VjpBuilder &b, Value g, Value x, Value) {
  Value bell = math::ExpOp::create(b, b.neg(square(b, x)));
  return b.mul(g, b.scale(bell, 2 * llvm::numbers::inv_sqrtpi));
}

static Value erfcVjp(VjpBuilder &b, Value g, Value x, Value r) {
  return b.neg(erfVjp(b, g, x, r));
}

//===----------------------------------------------------------------------===//
// Signs and bounds
//===----------------------------------------------------------------------===//

/// 1 at 0, and, as in JAX, -1 at NaN.
static Value absVjp(VjpBuilder &b, Value g, Value x, Value) {
  Value isNegative = b.createOrFold<arith::CmpFOp>(arith::CmpFPredicate::ULT, x,
                                                   b.constant(0, x));
  return b.select(isNegative, b.neg(g), g);
}

/// |x| with the sign of s: g where x and s have one sign, else -g. Flat in s.
static void copySignVjp(math::CopySignOp op, VjpBuilder &b) {
  if (!b.wants(0))
    return;
  Value one = b.constant(1, op.getLhs());
  Value ofX = math::CopySignOp::create(b, one, op.getLhs());
  Value ofS = math::CopySignOp::create(b, one, op.getRhs());
  b.addCotangent(0, b.mul(b.getCotangent(), b.mul(ofX, ofS)));
}

namespace {
struct CopySignModel
    : VjpOpInterface::ExternalModel<CopySignModel, math::CopySignOp> {
  void buildVjp(Operation *op, VjpBuilder &b) const {
    copySignVjp(cast<math::CopySignOp>(op), b);
  }
  bool isFlatIn(Operation *, unsigned operand) const { return operand == 1; }
};
} // namespace

static void fmaVjp(math::FmaOp op, VjpBuilder &b) {
  Value g = b.getCotangent();
  if (b.wants(0))
    b.addCotangent(0, b.mul(g, op.getB()));
  if (b.wants(1))
    b.addCotangent(1, b.mul(g, op.getA()));
  b.addCotangent(2, g);
}

/// The cotangent goes to the operand that the result is, and nowhere if the
/// value is on a bound.
static void clampVjp(math::ClampFOp op, VjpBuilder &b) {
  Value g = b.getCotangent();
  Value x = op.getValue(), min = op.getMin(), max = op.getMax();
  if (b.wants(0)) {
    Value isAbove = b.less(min, x);
    Value isInside = b.createOrFold<arith::AndIOp>(isAbove, b.less(x, max));
    b.addCotangent(0, b.keepWhere(isInside, g));
  }
  if (b.wants(1))
    b.addCotangent(1, b.keepWhere(b.less(x, min), g));
  if (b.wants(2))
    b.addCotangent(2, b.keepWhere(b.less(max, x), g));
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void weft::attachMathVjps(MLIRContext *context) {
  attachUnary<math::ExpOp, expVjp>(context);
  attachUnary<math::Exp2Op, exp2Vjp>(context);
  attachUnary<math::ExpM1Op, expm1Vjp>(context);
  attachUnary<math::LogOp, logVjp>(context);
  attachUnary<math::Log2Op, log2Vjp>(context);
  attachUnary<math::Log10Op, log10Vjp>(context);
  attachUnary<math::Log1pOp, log1pVjp>(context);
  attachUnary<math::SqrtOp, sqrtVjp>(context);
  attachUnary<math::RsqrtOp, rsqrtVjp>(context);
  attachUnary<math::CbrtOp, cbrtVjp>(context);
  attachVjp<math::PowFOp, powVjp>(context);
  attachVjp<math::FPowIOp, integerPowVjp>(context);

  attachUnary<math::SinOp, sinVjp>(context);
  attachUnary<math::CosOp, cosVjp>(context);
  attachVjp<math::SincosOp, sincosVjp>(context);
  attachUnary<math::TanOp, tanVjp>(context);
  attachUnary<math::SinhOp, sinhVjp>(context);
  attachUnary<math::CoshOp, coshVjp>(context);
  attachUnary<math::TanhOp, tanhVjp>(context);
  attachUnary<math::AsinOp, asinVjp>(context);
  attachUnary<math::AcosOp, acosVjp>(context);
  attachUnary<math::AtanOp, atanVjp>(context);
  attachUnary<math::AsinhOp, asinhVjp>(context);
  attachUnary<math::AcoshOp, acoshVjp>(context);
  attachUnary<math::AtanhOp, atanhVjp>(context);
  attachVjp<math::Atan2Op, atan2Vjp>(context);

  attachUnary<math::ErfOp, erfVjp>(context);
  attachUnary<math::ErfcOp, erfcVjp>(context);

  attachUnary<math::AbsFOp, absVjp>(context);
  math::CopySignOp::attachInterface<CopySignModel>(*context);
  attachVjp<math::FmaOp, fmaVjp>(context);
  attachVjp<math::ClampFOp, clampVjp>(context);
  attachFlat<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
             math::TruncOp>(context);
}
