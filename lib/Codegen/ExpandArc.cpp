//===- ExpandArc.cpp - Inverse trigonometric functions --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MathCoefficients.h"
#include "MathFunctions.h"

using namespace mlir;
using namespace weft;

/// A multiple of pi in two parts.
static Pair piTimes(Lanes &l, double factor) {
  return {l.f(0x1.921fb6p+1 * factor, 0x1.921fb54442d18p+1 * factor),
          l.f(-0x1.777a5cp-24 * factor, 0x1.1a62633145c07p-53 * factor)};
}

/// p - x.
static Value subtractFrom(Lanes &l, Pair p, Value x) {
  return l.add(l.sub(p.high, x), p.low);
}

/// The angle of a point with coordinates >= 0, between 0 and pi / 2. A ratio
/// above tan(pi / 8) is turned by pi / 4, one above 1 first mirrored.
static Value firstQuadrant(Lanes &l, Value y, Value x) {
  // Sums must not overflow, and only ratios count.
  Value larger = l.max(x, y), smaller = l.min(x, y);
  Value isHuge = l.less(l.f(0x1p126, 0x1p1022), larger);
  Value quarter = l.f(0.25);
  larger = l.select(isHuge, l.mul(larger, quarter), larger);
  smaller = l.select(isHuge, l.mul(smaller, quarter), smaller);

  Value isSame = l.equal(smaller, larger);
  Value isTurned =
      l.either(l.less(l.mul(larger, l.f(0x1.a82799p-2)), smaller), isSame);
  Value ratio = l.div(l.select(isTurned, l.sub(smaller, larger), smaller),
                      l.select(isTurned, l.add(smaller, larger), larger));
  Value none = l.either(l.equal(smaller, l.f(0)), isSame); // also of infinities
  ratio = l.select(none, l.f(0), ratio);
  isTurned = l.both(isTurned, l.less(l.f(0), smaller));

  Value z = l.mul(ratio, ratio);
  Value tail = l.wide() ? l.polynomial(z, atanTailWide)
                        : l.polynomial(z, atanTailNarrow);
  Value angle = l.fma(l.mul(z, ratio), tail, ratio);
  Pair eighth = piTimes(l, 0.25);
  Value turned = l.add(eighth.high, l.add(angle, eighth.low));
  angle = l.select(isTurned, turned, angle);
  Value isMirrored = l.less(x, y);
  angle = l.select(isMirrored, subtractFrom(l, piTimes(l, 0.5), angle), angle);
  return l.select(l.isNan(larger), larger, angle);
}

Value weft::expandAtan(Lanes &l, Value x) {
  return l.copySign(firstQuadrant(l, l.abs(x), l.f(1)), x);
}

/// Only the ratio counts: denormal numbers become ones with all digits.
Value weft::expandAtan2(Lanes &l, Value y, Value x) {
  Value height = l.abs(y), width = l.abs(x);
  Value isSmall = l.less(l.add(height, width), l.f(0x1p-90, 0x1p-900));
  Value factor = l.select(isSmall, l.f(0x1p60, 0x1p120), l.f(1));
  Value angle = firstQuadrant(l, l.mul(height, factor), l.mul(width, factor));
  Value mirrored = subtractFrom(l, piTimes(l, 1), angle);
  return l.copySign(l.select(l.isNegative(x), mirrored, angle), y);
}

/// asin x for |x| <= 1/2, given x^2.
static Value smallAsin(Lanes &l, Value x, Value square) {
  Value tail = l.wide() ? l.polynomial(square, asinTailWide)
                        : l.polynomial(square, asinTailNarrow);
  return l.fma(l.mul(square, x), tail, x);
}

namespace {
/// Of |x|: below 1/2 its asin, above that of sqrt((1 - |x|) / 2), whose double
/// is acos |x|.
struct Half {
  Value isLarge, asin;
};
} // namespace

/// NaN for |x| > 1.
static Half halfAsin(Lanes &l, Value x) {
  Value a = l.abs(x), isLarge = l.less(l.f(0.5), a);
  Value other = l.mul(l.sub(l.f(1), a), l.f(0.5));
  Value argument = l.select(isLarge, l.sqrt(other), a);
  Value square = l.select(isLarge, other, l.mul(a, a));
  return {isLarge, smallAsin(l, argument, square)};
}

Value weft::expandAsin(Lanes &l, Value x) {
  auto [isLarge, asin] = halfAsin(l, x);
  Value large = subtractFrom(l, piTimes(l, 0.5), l.add(asin, asin));
  return l.copySign(l.select(isLarge, large, asin), x);
}

Value weft::expandAcos(Lanes &l, Value x) {
  auto [isLarge, asin] = halfAsin(l, x);
  Value isNegative = l.isNegative(x), doubled = l.add(asin, asin);
  Value large =
      l.select(isNegative, subtractFrom(l, piTimes(l, 1), doubled), doubled);
  Value withSign = l.select(isNegative, l.neg(asin), asin);
  Value small = subtractFrom(l, piTimes(l, 0.5), withSign);
  return l.select(isLarge, large, small);
}
