//===- ExpandPower.cpp - Powers and roots ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MathFunctions.h"

using namespace mlir;
using namespace weft;

namespace {

/// An exponent, in f64.
struct Exponent {
  Value value;
  /// Conditions. An even or odd number is an integer.
  Value isInteger, isOdd;
};

} // namespace

/// exp(y log a) for a >= 0, in f64 arithmetic that suffices for f32.
static Value shortPower(Lanes &l, Value a, Value y) {
  return expandExp(l, l.mul(y, expandLog(l, a)));
}

/// exp(y log a) for a >= 0, of which log a has twice the digits of f64: as many
/// as exp loses to a large argument.
static Value longPower(Lanes &l, Value a, Value y) {
  // A larger exponent changes nothing, but must not make an infinity here.
  Value bounded = l.clamp(y, -0x1p66, 0x1p66);
  Pair log = expandPreciseLog(l, a);
  Pair product = productOf(l, bounded, log.high);
  product.low = l.fma(bounded, log.low, product.low);
  Value result =
      expandExpOf(l, sumOfOrdered(l, product.high, product.low), l.f(1));
  // 0 and infinity have no logarithm.
  Value grows = l.less(l.f(0), y);
  Value zero = l.select(grows, l.f(0), l.f(l.infinity()));
  Value infinite = l.select(grows, l.f(l.infinity()), l.f(0));
  result = l.select(l.equal(a, l.f(0)), zero, result);
  result = l.select(l.equal(a, l.f(l.infinity())), infinite, result);
  return l.select(l.either(l.isNan(a), l.isNan(y)), l.f(l.nan()), result);
}

/// C99 Annex F, 9.4.4; x and y in f64 lanes.
static Value power(Lanes &l, Value x, const Exponent &y, bool isLong) {
  Value a = l.abs(x);
  Value result = isLong ? longPower(l, a, y.value) : shortPower(l, a, y.value);
  Value isNegative = l.isNegative(x);
  result = l.select(l.both(isNegative, y.isOdd), l.neg(result), result);
  Value isUndefined =
      l.both(l.both(l.less(x, l.f(0)), l.isFinite(x)), l.negate(y.isInteger));
  result = l.select(isUndefined, l.f(l.nan()), result);
  // -1 to an infinite power counts as a power of even order.
  Value isUnit =
      l.both(l.equal(a, l.f(1)), l.equal(l.abs(y.value), l.f(l.infinity())));
  Value isOne = l.either(l.equal(x, l.f(1)), l.equal(y.value, l.f(0)));
  return l.select(l.either(isOne, isUnit), l.f(1), result);
}

Value weft::expandPow(Lanes &narrow, Value x, Value y) {
  Lanes l = narrow.inDouble();
  Value number = narrow.toDouble(y), half = l.mul(number, l.f(0.5));
  Value isInteger = l.equal(l.trunc(number), number);
  Value isOdd = l.both(isInteger, l.negate(l.equal(l.trunc(half), half)));
  return narrow.fromDouble(
      power(l, narrow.toDouble(x), {number, isInteger, isOdd}, narrow.wide()));
}

Value weft::expandIntegerPower(Lanes &narrow, Value x, Value n) {
  Lanes l = narrow.inDouble();
  Type type = n.getType();
  auto one = l.b.getIntegerAttr(getElementTypeOrSelf(type), 1);
  Value lowest = l.make<arith::AndIOp>(n, l.constant(type, one));
  Value isOdd = l.make<arith::CmpIOp>(arith::CmpIPredicate::eq, lowest,
                                      l.constant(type, one));
  Value isInteger =
      l.constant(l.shaped(l.b.getI1Type()), l.b.getBoolAttr(true));
  Value number = l.make<arith::SIToFPOp>(l.type, n);
  return narrow.fromDouble(
      power(l, narrow.toDouble(x), {number, isInteger, isOdd}, narrow.wide()));
}

/// The bits divided by three give five digits. Halley's formula
/// y (q + 2) / (2 q + 1) with q = y^3 / x triples them; Newton's with the exact
/// residual rounds once.
static Value positiveCbrt(Lanes &l, Value x) {
  int half = l.wide() ? 32 : 16;
  Value third = l.mulI(l.shiftRight(l.bits(x), half),
                       l.i(l.wide() ? 0x55555556 : 0x5556));
  third = l.shiftLeft(l.shiftRight(third, half), half);
  Value y = l.fromBits(
      l.addI(third, l.i(l.wide() ? int64_t(715094163) << 32 : 709958130)));
  for (int step = 0; step < (l.wide() ? 2 : 1); ++step) {
    Value q = l.div(l.mul(l.mul(y, y), y), x);
    Value ratio = l.div(l.add(q, l.f(2)), l.fma(q, l.f(2), l.f(1)));
    y = l.mul(y, ratio);
  }
  Pair square = productOf(l, y, y), cube = productOf(l, square.high, y);
  cube.low = l.fma(square.low, y, cube.low);
  Value residual = l.sub(l.sub(x, cube.high), cube.low);
  return l.add(y, l.div(residual, l.mul(square.high, l.f(3))));
}

Value weft::expandCbrt(Lanes &l, Value x) {
  // Away from the ends of the range no third power leaves it.
  Value a = l.abs(x), one = l.f(1);
  Value isSmall = l.less(a, l.f(0x1p-80, 0x1p-800));
  Value isLarge = l.less(l.f(0x1p80, 0x1p800), a);
  Value factor = l.select(isSmall, l.f(0x1p60, 0x1p300),
                          l.select(isLarge, l.f(0x1p-60, 0x1p-300), one));
  Value back = l.select(isSmall, l.f(0x1p-20, 0x1p-100),
                        l.select(isLarge, l.f(0x1p20, 0x1p100), one));
  Value root = l.mul(positiveCbrt(l, l.mul(a, factor)), back);
  // Zero, infinity and NaN are their own roots.
  Value isOwn = l.either(l.equal(x, l.f(0)), l.negate(l.isFinite(x)));
  return l.select(isOwn, x, l.copySign(root, x));
}
