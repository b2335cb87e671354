//===- ExpandTrigonometry.cpp - Sine, cosine and tangent ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MathCoefficients.h"
#include "MathFunctions.h"

using namespace mlir;
using namespace weft;

/// Of the rest of a reduced angle.
static SineCosine sineCosine(Lanes &l, Pair x) {
  Value z = l.mul(x.high, x.high);
  Value p =
      l.wide() ? l.polynomial(z, sinTailWide) : l.polynomial(z, sinTailNarrow);
  Value q =
      l.wide() ? l.polynomial(z, cosTailWide) : l.polynomial(z, cosTailNarrow);
  // sin(x + low) = sin x + low cos x; cos(x + low) = cos x - low sin x.
  Value half = l.mul(z, l.f(0.5)), one = l.f(1);
  Value low = l.mul(x.low, l.sub(one, half));
  Value sine = l.add(x.high, l.fma(l.mul(z, x.high), p, low));
  Pair near = sumOfOrdered(l, one, l.neg(half));
  Value rest = l.fnma(x.high, x.low, l.fma(l.mul(z, z), q, near.low));
  return {sine, l.add(near.high, rest)};
}

static Value negateIf(Lanes &l, Value condition, Value x) {
  return l.select(condition, l.neg(x), x);
}

static Value nanUnlessFinite(Lanes &l, Value x, Value result) {
  return l.select(l.isFinite(x), result, l.f(l.nan()));
}

/// The sine of an angle whose rest has the given sine and cosine.
static Value sineOf(Lanes &l, Value x, Value quarter, SineCosine rest) {
  Value result = l.select(l.isSet(quarter, 1), rest.cosine, rest.sine);
  result = negateIf(l, l.isSet(quarter, 2), result);
  // The sign of a zero is lost by the reduction.
  result = l.select(l.equal(x, l.f(0)), x, result);
  return nanUnlessFinite(l, x, result);
}

static Value cosineOf(Lanes &l, Value x, Value quarter, SineCosine rest) {
  Value result = l.select(l.isSet(quarter, 1), rest.sine, rest.cosine);
  result = negateIf(l, l.isSet(l.addI(quarter, l.i(1)), 2), result);
  return nanUnlessFinite(l, x, result);
}

Value weft::expandSin(Lanes &l, Value x) {
  auto [quarter, rest] = reduceAngle(l, x);
  return sineOf(l, x, quarter, sineCosine(l, rest));
}

Value weft::expandCos(Lanes &l, Value x) {
  auto [quarter, rest] = reduceAngle(l, x);
  return cosineOf(l, x, quarter, sineCosine(l, rest));
}

SineCosine weft::expandSinAndCos(Lanes &l, Value x) {
  auto [quarter, rest] = reduceAngle(l, x);
  SineCosine ofRest = sineCosine(l, rest);
  return {sineOf(l, x, quarter, ofRest), cosineOf(l, x, quarter, ofRest)};
}

Value weft::expandTan(Lanes &l, Value x) {
  auto [quarter, rest] = reduceAngle(l, x);
  auto [sine, cosine] = sineCosine(l, rest);
  Value isOdd = l.isSet(quarter, 1);
  Value result = l.div(l.select(isOdd, l.neg(cosine), sine),
                       l.select(isOdd, sine, cosine));
  result = l.select(l.equal(x, l.f(0)), x, result);
  return nanUnlessFinite(l, x, result);
}
