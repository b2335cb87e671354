//===- ExpandExponential.cpp - Exponentials -------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All are 2^n * (1 + expm1(r)) with |r| <= ln2 / 2.

#include "MathFunctions.h"

using namespace mlir;
using namespace weft;

namespace {

struct Reduced {
  /// An integer.
  Value n;
  /// exp(r) - 1.
  Value expm1;
};

struct Rounded {
  Value asFloat, asInt;
};

} // namespace

/// The integer next to x * factor, which must fit in the mantissa. A NaN gives
/// anything as an integer.
static Rounded roundProduct(Lanes &l, Value x, double factor) {
  // Adding 1.5 * 2^mantissa rounds to an integer and leaves it in the low bits.
  Value magic = l.f(0x1.8p23, 0x1.8p52);
  Value shifted = l.fma(x, l.f(factor), magic);
  return {l.sub(shifted, magic), l.subI(l.bits(shifted), l.bits(magic))};
}

/// exp(r) - 1 for |r| <= ln2 / 2.
static Value smallExpm1(Lanes &l, Value r) {
  SmallVector<double> taylor; // 1/2!, 1/3!, ...
  double factorial = 1;
  for (int k = 2; k <= (l.wide() ? 13 : 7); ++k)
    taylor.push_back(1 / (factorial *= k));
  return l.fma(l.mul(r, r), l.polynomial(r, taylor), r);
}

/// x must be so small that n fits in the mantissa.
static Reduced reduceExp(Lanes &l, Value x) {
  Value ln2High = l.f(-0x1.62e430p-1, -0x1.62e42fefa39efp-1);
  Value ln2Low = l.f(0x1.05c610p-29, -0x1.abc9e3b39803fp-56);
  Rounded n = roundProduct(l, x, 0x1.71547652b82fep0);
  Value r = l.fma(n.asFloat, ln2High, x);
  return {n.asInt, smallExpm1(l, l.fma(n.asFloat, ln2Low, r))};
}

/// x * 2^n in two factors, because n itself may be outside the range of
/// exponents.
static Value scale(Lanes &l, Value x, Value n) {
  Value half = l.shiftRight(n, 1);
  return l.mul(l.mul(x, l.pow2(half)), l.pow2(l.subI(n, half)));
}

/// Beyond these bounds the result is 0 or infinity.
static Value boundExponent(Lanes &l, Value x) {
  return l.wide() ? l.clamp(x, -746, 710) : l.clamp(x, -104, 89);
}

Value weft::expandExp(Lanes &l, Value x) {
  Reduced reduced = reduceExp(l, boundExponent(l, x));
  return scale(l, l.add(reduced.expm1, l.f(1)), reduced.n);
}

Value weft::expandExpOf(Lanes &l, Pair x, Value factor) {
  Value bounded = boundExponent(l, x.high);
  Reduced reduced = reduceExp(l, bounded);
  // exp(low) = 1 + low but where the bound decides.
  Value low = l.select(l.equal(bounded, x.high), x.low, l.f(0));
  Value grown = l.fma(low, l.add(reduced.expm1, l.f(1)), reduced.expm1);
  return scale(l, l.mul(l.add(grown, l.f(1)), factor), reduced.n);
}

Value weft::expandExp2(Lanes &l, Value x) {
  Value bounded = l.wide() ? l.clamp(x, -1080, 1025) : l.clamp(x, -155, 129);
  Rounded n = roundProduct(l, bounded, 1);
  Value r = l.mul(l.sub(bounded, n.asFloat), l.f(0x1.62e42fefa39efp-1));
  return scale(l, l.add(smallExpm1(l, r), l.f(1)), n.asInt);
}

/// exp(r + n ln2) - 1, which cancels nowhere; for a normal 2^n.
static Value expm1Of(Lanes &l, Reduced reduced) {
  Value power = l.pow2(reduced.n);
  return l.fma(power, reduced.expm1, l.sub(power, l.f(1)));
}

Value weft::expandExpm1(Lanes &l, Value x) {
  Value isLarge = l.less(l.f(10), l.abs(x));
  Value small = expm1Of(l, reduceExp(l, l.clamp(x, -10, 10)));
  Value large = l.sub(expandExp(l, x), l.f(1));
  return l.copySign(l.select(isLarge, large, small), x);
}

/// exp(r + n ln2) / 2.
static Value halfExp(Lanes &l, Reduced reduced) {
  return scale(l, l.add(reduced.expm1, l.f(1)), l.subI(reduced.n, l.i(1)));
}

static Reduced reduceMagnitude(Lanes &l, Value x) {
  return reduceExp(l, l.clamp(l.abs(x), 0, l.wide() ? 712 : 91));
}

/// With t = exp |x| - 1: (t + t / (t + 1)) / 2; exp |x| / 2 where exp -|x| is
/// too small to count.
Value weft::expandSinh(Lanes &l, Value x) {
  Reduced reduced = reduceMagnitude(l, x);
  Value t = expm1Of(l, reduced);
  Value small = l.mul(l.f(0.5), l.add(t, l.div(t, l.add(t, l.f(1)))));
  Value isLarge = l.less(l.f(10, 20), l.abs(x));
  return l.copySign(l.select(isLarge, halfExp(l, reduced), small), x);
}

Value weft::expandCosh(Lanes &l, Value x) {
  Value half = halfExp(l, reduceMagnitude(l, x));
  return l.add(half, l.div(l.f(0.25), half));
}

/// tanh |x| = t / (t + 2) with t = exp(2 |x|) - 1, which cancels nowhere.
Value weft::expandTanh(Lanes &l, Value x) {
  double saturation = l.wide() ? 20 : 10;
  Value magnitude = l.clamp(l.abs(x), 0, saturation);
  Value t = expm1Of(l, reduceExp(l, l.add(magnitude, magnitude)));
  return l.copySign(l.div(t, l.add(t, l.f(2))), x);
}
