//===- ExpandLogarithm.cpp - Logarithms -----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MathCoefficients.h"
#include "MathFunctions.h"

using namespace mlir;
using namespace weft;

namespace {

/// x = 2^exponent * reduced with reduced in [sqrt(1/2), sqrt(2)).
struct Split {
  Value exponent, reduced;
};

/// log(1 + f) = f - halfSquare + rest.
struct LogParts {
  Value f, halfSquare, rest;
};

} // namespace

/// For positive finite numbers.
static Split split(Lanes &l, Value x) {
  int mantissa = l.mantissaBits();
  int64_t sqrtHalf = l.wide() ? 0x3fe6a09e667f3bcdLL : 0x3f3504f3;
  int64_t mantissaMask = (int64_t(1) << mantissa) - 1;
  Value isDenormal = l.less(x, l.f(l.smallestNormal()));
  Value normal = l.select(isDenormal, l.mul(x, l.f(0x1p23, 0x1p52)), x);
  Value shift = l.select(isDenormal, l.i(-mantissa), l.i(0));
  Value offset = l.subI(l.bits(normal), l.i(sqrtHalf));
  Value exponent = l.toFloat(l.addI(l.shiftRight(offset, mantissa), shift));
  return {exponent,
          l.fromBits(l.addI(l.andI(offset, l.i(mantissaMask)), l.i(sqrtHalf)))};
}

/// As in FreeBSD's msun: with s = f / (2 + f),
/// log(1 + f) = f - (f^2 / 2 - s * (f^2 / 2 + R(s^2))).
static LogParts logParts(Lanes &l, Value reduced) {
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
  return {f, halfSquare, l.mul(s, l.add(halfSquare, r))};
}

/// `result`, with the logarithms of zero, infinity, NaN and negative numbers in
/// their places: the bit tricks above make a number of each.
static Value atSpecials(Lanes &l, Value x, Value result) {
  result = l.select(l.equal(x, l.f(l.infinity())), x, result);
  result = l.select(l.equal(x, l.f(0)), l.f(-l.infinity()), result);
  result = l.select(l.less(x, l.f(0)), l.f(l.nan()), result);
  return l.select(l.isNan(x), x, result);
}

/// exponent * ln2 + log(1 + f).
Value weft::expandLog(Lanes &l, Value x) {
  auto [exponent, reduced] = split(l, x);
  LogParts log = logParts(l, reduced);
  Value ln2High = l.f(6.9313812256e-01, 6.93147180369123816490e-01);
  Value ln2Low = l.f(9.0580006145e-06, 1.90821492927058770002e-10);
  Value low = l.fma(exponent, ln2Low, log.rest);
  Value sum = l.add(l.sub(low, log.halfSquare), log.f);
  return atSpecials(l, x, l.fma(exponent, ln2High, sum));
}

namespace {
/// A number in two parts, for f32 and f64. The high part of `unit` has so few
/// digits that its products with exponents are exact.
struct Base {
  double unitHigh[2], unitLow[2]; // the logarithm of 2
  double factorHigh[2], factorLow[2];
};
} // namespace

/// exponent * unit + log(1 + f) * factor: the logarithm of another base.
static Value logToBase(Lanes &l, Value x, const Base &base) {
  auto [exponent, reduced] = split(l, x);
  LogParts parts = logParts(l, reduced);
  auto number = [&](const double (&value)[2]) { return l.f(value[l.wide()]); };
  Pair log = sumOfOrdered(l, parts.f, l.neg(parts.halfSquare));
  log.low = l.add(log.low, parts.rest);
  Pair product = productOf(l, log.high, number(base.factorHigh));
  product.low = l.fma(log.low, number(base.factorHigh), product.low);
  product.low = l.fma(log.high, number(base.factorLow), product.low);
  Pair sum = sumOf(l, l.mul(exponent, number(base.unitHigh)), product.high);
  Value low = l.fma(exponent, number(base.unitLow), sum.low);
  return atSpecials(l, x, l.add(sum.high, l.add(low, product.low)));
}

Value weft::expandLog2(Lanes &l, Value x) {
  return logToBase(l, x,
                   {{1, 1},
                    {0, 0},
                    {0x1.715476p+0, 0x1.71547652b82fep+0},
                    {0x1.4ae0c0p-26, 0x1.777d0ffda0d24p-56}});
}

Value weft::expandLog10(Lanes &l, Value x) {
  return logToBase(l, x,
                   {{0x1.344000p-2, 0x1.34413509f78p-2},
                    {0x1.3509f8p-18, 0x1.fef311f12b358p-46},
                    {0x1.bcb7b2p-2, 0x1.bcb7b1526e50ep-2},
                    {-0x1.5b235ep-27, 0x1.95355baaafad3p-57}});
}

/// log(u) * x / (u - 1) with u = 1 + x rounded; the quotient corrects for the
/// rounding of u.
Value weft::expandLog1p(Lanes &l, Value x) {
  Value u = l.add(x, l.f(1));
  Value exact = l.equal(u, l.f(1));
  Value infinite = l.equal(u, l.f(l.infinity()));
  Value corrected = l.mul(expandLog(l, u), l.div(x, l.sub(u, l.f(1))));
  return l.select(exact, x, l.select(infinite, u, corrected));
}

/// log1p(x), plus ln2 where `isDoubled`: log(2 x) for a large x.
static Value logOfSum(Lanes &l, Value x, Value isDoubled) {
  Value ln2 = l.select(isDoubled, l.f(0x1.62e42fefa39efp-1), l.f(0));
  return l.add(expandLog1p(l, x), ln2);
}

/// log1p(a + a^2 / (1 + sqrt(a^2 + 1))) with a = |x|.
Value weft::expandAsinh(Lanes &l, Value x) {
  Value a = l.abs(x), isLarge = l.less(l.f(0x1p26, 0x1p54), a);
  Value square = l.mul(a, a);
  Value root = l.sqrt(l.add(square, l.f(1)));
  Value sum = l.add(a, l.div(square, l.add(root, l.f(1))));
  return l.copySign(logOfSum(l, l.select(isLarge, a, sum), isLarge), x);
}

/// log1p(t + sqrt(2 t + t^2)) with t = x - 1.
Value weft::expandAcosh(Lanes &l, Value x) {
  Value isLarge = l.less(l.f(0x1p26, 0x1p54), x);
  Value t = l.sub(x, l.f(1));
  Value root = l.sqrt(l.mul(t, l.add(t, l.f(2))));
  Value result = logOfSum(l, l.select(isLarge, x, l.add(t, root)), isLarge);
  return l.select(l.less(x, l.f(1)), l.f(l.nan()), result);
}

/// log1p(2 a / (1 - a)) / 2 with a = |x|.
Value weft::expandAtanh(Lanes &l, Value x) {
  Value a = l.abs(x);
  Value ratio = l.div(l.add(a, a), l.sub(l.f(1), a));
  return l.copySign(l.mul(expandLog1p(l, ratio), l.f(0.5)), x);
}

/// (m - 1) / (m + 1).
static Pair atanhArgument(Lanes &l, Value m) {
  Value numerator = l.sub(m, l.f(1));
  Pair denominator = sumOf(l, m, l.f(1));
  Value s = l.div(numerator, denominator.high);
  Value rest = l.fnma(s, denominator.high, numerator);
  rest = l.fnma(s, denominator.low, rest);
  return {s, l.div(rest, denominator.high)};
}

/// exponent * ln2 + 2 s + s^3 * (2/3 + s^2 * P(s^2)).
Pair weft::expandPreciseLog(Lanes &l, Value x) {
  auto [exponent, reduced] = split(l, x);
  Pair s = atanhArgument(l, reduced);
  Pair square = productOf(l, s.high, s.high);
  square.low = l.fma(l.add(s.high, s.high), s.low, square.low);
  Pair cube = productOf(l, square.high, s.high);
  cube.low = l.fma(square.high, s.low, l.fma(square.low, s.high, cube.low));

  Value tail = l.mul(square.high, l.polynomial(square.high, logTailWide));
  Pair factor = sumOfOrdered(l, l.f(0x1.5555555555555p-1), tail);
  factor.low = l.add(factor.low, l.f(0x1.5555555555555p-55));
  Pair term = productOf(l, cube.high, factor.high);
  term.low =
      l.fma(cube.high, factor.low, l.fma(cube.low, factor.high, term.low));

  // The high part of ln2 has 11 digits less: the product is exact.
  Value whole = l.mul(exponent, l.f(0x1.62e42fefa38p-1));
  Pair first = sumOf(l, whole, l.add(s.high, s.high));
  Pair second = sumOf(l, first.high, term.high);
  Value low = l.fma(exponent, l.f(0x1.ef35793c7673p-45), l.add(s.low, s.low));
  low = l.add(low, l.add(term.low, l.add(first.low, second.low)));
  return sumOfOrdered(l, second.high, low);
}
