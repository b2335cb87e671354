//===- ExpandRemainder.cpp - Remainders of numbers ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Long division in digits of 52 bits. A step is exact: the remainder is a
// multiple of the last place of the divisor and smaller than it.

#include "MathFunctions.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft;

/// The biased exponent of a positive f64 number, also of a denormal one.
static Value exponentOf(Lanes &l, Value x) {
  Value isSmall = l.less(x, l.f(l.smallestNormal()));
  Value normal = l.select(isSmall, l.mul(x, l.f(0x1p54)), x);
  return l.subI(l.shiftRight(l.bits(normal), 52),
                l.select(isSmall, l.i(54), l.i(0)));
}

/// `rest` less a multiple of `divisor`, for rest >= divisor > 0.
static Value divideOnce(Lanes &l, Value rest, Value divisor) {
  Value shift = l.subI(exponentOf(l, rest), exponentOf(l, divisor));
  shift = l.make<arith::MaxSIOp>(l.subI(shift, l.i(51)), l.i(0));
  Value half = l.shiftRight(shift, 1);
  Value multiple =
      l.mul(l.mul(divisor, l.pow2(half)), l.pow2(l.subI(shift, half)));
  Value digit = l.trunc(l.div(rest, multiple));
  Value next = l.fnma(digit, multiple, rest);
  // A quotient that was rounded up to an integer is one too large.
  return l.select(l.less(next, l.f(0)), l.add(next, multiple), next);
}

Value weft::expandRemainder(Lanes &narrow, Value x, Value y) {
  Lanes l = narrow.inDouble();
  Value dividend = l.abs(narrow.toDouble(x));
  Value divisor = l.abs(narrow.toDouble(y));
  Value isDefined = l.both(l.isFinite(dividend), l.less(l.f(0), divisor));
  Value start = l.select(isDefined, dividend, l.f(0));
  divisor = l.select(isDefined, divisor, l.f(1));
  auto loop = scf::WhileOp::create(
      l.b, l.loc, l.type, start,
      [&](OpBuilder &b, Location loc, ValueRange rest) {
        Value again = l.any(l.atMost(divisor, rest[0]));
        scf::ConditionOp::create(b, loc, again, rest);
      },
      [&](OpBuilder &b, Location loc, ValueRange rest) {
        Value isLarge = l.atMost(divisor, rest[0]);
        Value next = divideOnce(l, rest[0], divisor);
        Value chosen = l.select(isLarge, next, rest[0]);
        scf::YieldOp::create(b, loc, chosen);
      });
  Value rest = l.select(isDefined, loop.getResult(0), l.f(l.nan()));
  return narrow.copySign(narrow.fromDouble(rest), x);
}
