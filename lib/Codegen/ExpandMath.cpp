//===- ExpandMath.cpp - Transcendental functions --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace {

/// Arithmetic on values of one floating-point type (or vectors of it) and on
/// the integers of the same width.
class Lanes {
public:
  Lanes(OpBuilder &b, Location loc, Type type)
      : b(b), loc(loc), type(type),
        isDouble(getElementTypeOrSelf(type).isF64()) {
    Type element = b.getIntegerType(isDouble ? 64 : 32);
    auto vector = dyn_cast<VectorType>(type);
    intType = vector ? vector.clone(element) : element;
  }

  bool wide() const { return isDouble; }
  int mantissaBits() const { return isDouble ? 52 : 23; }
  int bias() const { return isDouble ? 1023 : 127; }
  double infinity() const { return std::numeric_limits<double>::infinity(); }

  Value f(double value) {
    Type element = getElementTypeOrSelf(type);
    return constant(
        type, b.getFloatAttr(element, isDouble ? value : (double)(float)value));
  }
  Value i(int64_t value) {
    return constant(intType,
                    b.getIntegerAttr(getElementTypeOrSelf(intType), value));
  }

  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, loc, x, y, z);
  }
  Value sqrt(Value x) { return math::SqrtOp::create(b, loc, x); }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value copySign(Value x, Value sign) {
    return math::CopySignOp::create(b, loc, x, sign);
  }
  Value addI(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value subI(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value andI(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value shiftLeft(Value x, int by) {
    return arith::ShLIOp::create(b, loc, x, i(by));
  }
  Value shiftRight(Value x, int by) {
    return arith::ShRSIOp::create(b, loc, x, i(by));
  }
  Value bits(Value x) { return arith::BitcastOp::create(b, loc, intType, x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, loc, type, x); }
  Value toFloat(Value x) { return arith::SIToFPOp::create(b, loc, type, x); }
  Value less(Value x, Value y) {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, y);
  }
  Value equal(Value x, Value y) {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  /// x limited to [low, high]; NaN stays NaN.
  Value clamp(Value x, double low, double high) {
    Value y = select(less(x, f(low)), f(low), x);
    return select(less(f(high), y), f(high), y);
  }
  /// 2^n for an integer n in the range of normal exponents.
  Value pow2(Value n) {
    return fromBits(shiftLeft(addI(n, i(bias())), mantissaBits()));
  }
  /// c[0] + x * (c[1] + x * ...).
  Value polynomial(Value x, ArrayRef<double> c) {
    Value sum = f(c.back());
    for (double coefficient : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, f(coefficient));
    return sum;
  }

private:
  Value constant(Type of, TypedAttr scalar) {
    if (auto vector = dyn_cast<VectorType>(of))
      return arith::ConstantOp::create(
          b, loc, DenseElementsAttr::get(vector, Attribute(scalar)));
    return arith::ConstantOp::create(b, loc, scalar);
  }

  OpBuilder &b;
  Location loc;
  Type type, intType;
  bool isDouble;
};

/// x = n * ln2 + r with |r| <= ln2 / 2.
struct Reduced {
  Value n;
  /// exp(r) - 1.
  Value expm1;
};

} // namespace

/// x must be so small that n fits in the mantissa. A NaN gives NaN in `expm1`
/// and any `n`.
static Reduced reduceExp(Lanes &l, Value x) {
  // Adding 1.5 * 2^mantissa rounds to an integer and leaves it in the low bits.
  double magic = l.wide() ? 0x1.8p52 : 0x1.8p23;
  double ln2High = l.wide() ? 0x1.62e42fefa39efp-1 : 0x1.62e430p-1;
  double ln2Low = l.wide() ? 0x1.abc9e3b39803fp-56 : -0x1.05c610p-29;
  Value shifted = l.fma(x, l.f(0x1.71547652b82fep0), l.f(magic));
  Value rounded = l.sub(shifted, l.f(magic));
  Value r = l.fma(rounded, l.f(-ln2High), x);
  r = l.fma(rounded, l.f(-ln2Low), r);
  SmallVector<double> taylor; // 1/2!, 1/3!, ...
  double factorial = 1;
  for (int k = 2; k <= (l.wide() ? 13 : 7); ++k)
    taylor.push_back(1 / (factorial *= k));
  Value tail = l.polynomial(r, taylor);
  Value n = l.subI(l.bits(shifted), l.bits(l.f(magic)));
  return {n, l.fma(l.mul(r, r), tail, r)};
}

static Value expandExp(Lanes &l, Value x) {
  // Beyond these bounds the result is 0 or infinity.
  Value bounded = l.wide() ? l.clamp(x, -746, 710) : l.clamp(x, -104, 89);
  Reduced reduced = reduceExp(l, bounded);
  // Two factors, because n itself may be outside the range of exponents.
  Value half = l.shiftRight(reduced.n, 1);
  Value rest = l.subI(reduced.n, half);
  Value scaled = l.mul(l.add(reduced.expm1, l.f(1)), l.pow2(half));
  return l.mul(scaled, l.pow2(rest));
}

/// exp(x) - 1, which cancels where x is small.
static Value expandExpm1(Lanes &l, Value x) {
  Value isLarge = l.less(l.f(10), l.abs(x));
  Reduced reduced = reduceExp(l, l.clamp(x, -10, 10));
  Value scale = l.pow2(reduced.n);
  Value small = l.fma(scale, reduced.expm1, l.sub(scale, l.f(1)));
  Value large = l.sub(expandExp(l, x), l.f(1));
  return l.copySign(l.select(isLarge, large, small), x);
}

/// tanh |x| = t / (t + 2) with t = exp(2 |x|) - 1, which cancels nowhere.
static Value expandTanh(Lanes &l, Value x) {
  double saturation = l.wide() ? 20 : 10;
  Value magnitude = l.abs(x);
  Value bounded =
      l.select(l.less(l.f(saturation), magnitude), l.f(saturation), magnitude);
  Reduced reduced = reduceExp(l, l.add(bounded, bounded));
  Value scale = l.pow2(reduced.n);
  Value t = l.fma(scale, reduced.expm1, l.sub(scale, l.f(1)));
  return l.copySign(l.div(t, l.add(t, l.f(2))), x);
}

/// log x = k ln2 + log(1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), the second
/// term as in FreeBSD's msun: with s = f / (2 + f),
/// log(1 + f) = f - (f^2 / 2 - s * (f^2 / 2 + R(s^2))).
static Value expandLog(Lanes &l, Value x) {
  int mantissa = l.mantissaBits();
  int64_t sqrtHalf = l.wide() ? 0x3fe6a09e667f3bcdLL : 0x3f3504f3;
  int64_t mantissaMask = (int64_t(1) << mantissa) - 1;
  double smallest = l.wide() ? 0x1p-1022 : 0x1p-126;

  Value isDenormal = l.less(x, l.f(smallest));
  Value normal =
      l.select(isDenormal, l.mul(x, l.f(l.wide() ? 0x1p52 : 0x1p23)), x);
  Value shift = l.select(isDenormal, l.i(-mantissa), l.i(0));
  Value offset = l.subI(l.bits(normal), l.i(sqrtHalf));
  Value exponent = l.toFloat(l.addI(l.shiftRight(offset, mantissa), shift));
  Value reduced =
      l.fromBits(l.addI(l.andI(offset, l.i(mantissaMask)), l.i(sqrtHalf)));

  Value f = l.sub(reduced, l.f(1));
  Value s = l.div(f, l.add(f, l.f(2)));
  Value z = l.mul(s, s);
  static const double narrow[] = {0xaaaaaa.0p-24, 0xccce13.0p-25,
                                  0x91e9ee.0p-25, 0xf89e26.0p-26};
  static const double wide[] = {
      6.666666666666735130e-01, 3.999999999940941908e-01,
      2.857142874366239149e-01, 2.222219843214978396e-01,
      1.818357216161805012e-01, 1.531383769920937332e-01,
      1.479819860511658591e-01};
  Value r =
      l.mul(z, l.wide() ? l.polynomial(z, wide) : l.polynomial(z, narrow));
  Value halfSquare = l.mul(l.mul(f, f), l.f(0.5));
  double ln2High = l.wide() ? 6.93147180369123816490e-01 : 6.9313812256e-01;
  double ln2Low = l.wide() ? 1.90821492927058770002e-10 : 9.0580006145e-06;
  Value low = l.fma(exponent, l.f(ln2Low), l.mul(s, l.add(halfSquare, r)));
  Value sum = l.add(l.sub(low, halfSquare), f);
  Value result = l.fma(exponent, l.f(ln2High), sum);

  result = l.select(l.equal(x, l.f(l.infinity())), x, result);
  result = l.select(l.equal(x, l.f(0)), l.f(-l.infinity()), result);
  Value nan = l.f(std::numeric_limits<double>::quiet_NaN());
  result = l.select(l.less(x, l.f(0)), nan, result);
  // The bit tricks above make a number of a NaN.
  return l.select(l.equal(x, x), result, x);
}

/// log(u) * x / (u - 1) with u = 1 + x rounded; the quotient corrects for the
/// rounding of u.
static Value expandLog1p(Lanes &l, Value x) {
  Value u = l.add(x, l.f(1));
  Value exact = l.equal(u, l.f(1));
  Value infinite = l.equal(u, l.f(l.infinity()));
  Value corrected = l.mul(expandLog(l, u), l.div(x, l.sub(u, l.f(1))));
  return l.select(exact, x, l.select(infinite, u, corrected));
}

/// Two polynomials (minimax, f32): x + x * P(x^2) near zero, and
/// 1 - exp(Q(|x|)) elsewhere.
static Value expandErf(Lanes &l, Value x) {
  Value t = l.abs(x);
  Value square = l.mul(x, x);
  static const double near[] = {1.28379166e-1f, -3.76125336e-1f,
                                1.12819925e-1f, -2.67681349e-2f,
                                4.99119423e-3f, -5.96761703e-4f};
  Value small = l.fma(l.polynomial(square, near), x, x);
  // 4 and more give 1; the bound keeps infinity out of the polynomial.
  Value bounded = l.select(l.less(l.f(4), t), l.f(4), t);
  static const double far[] = {
      -1.28717512e-1f, -6.34846687e-1f, -1.06777877e-1f, 2.42546219e-2f,
      -3.88396438e-3f, 3.83197126e-4f,  -1.72853470e-5f};
  Value exponent =
      l.fma(l.polynomial(bounded, far), bounded, l.sub(l.f(0), bounded));
  Value large = l.copySign(l.sub(l.f(1), expandExp(l, exponent)), x);
  return l.select(l.less(l.f(0.927734375), t), large, small);
}

bool weft::needsMathExpansion(Operation *op) {
  return isa<math::MathDialect>(op->getDialect()) &&
         !isa<math::AbsFOp, math::AbsIOp, math::SqrtOp, math::FmaOp,
              math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp,
              math::CopySignOp, math::CtPopOp, math::CountLeadingZerosOp,
              math::CountTrailingZerosOp>(op);
}

bool weft::hasMathExpansion(Operation *op) {
  if (isa<math::ExpOp, math::ExpM1Op, math::LogOp, math::Log1pOp, math::TanhOp,
          math::RsqrtOp>(op))
    return true;
  return isa<math::ErfOp>(op) &&
         !getElementTypeOrSelf(op->getResult(0).getType()).isF64();
}

Value weft::expandMath(OpBuilder &builder, Operation *op, ValueRange operands) {
  Value x = operands.front();
  Lanes l(builder, op->getLoc(), x.getType());
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return expandExp(l, x); })
      .Case([&](math::ExpM1Op) { return expandExpm1(l, x); })
      .Case([&](math::LogOp) { return expandLog(l, x); })
      .Case([&](math::Log1pOp) { return expandLog1p(l, x); })
      .Case([&](math::TanhOp) { return expandTanh(l, x); })
      .Case([&](math::ErfOp) { return expandErf(l, x); })
      .Case([&](math::RsqrtOp) { return l.div(l.f(1), l.sqrt(x)); })
      .Default(Value());
}
