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

namespace {
/// Of the rest of a reduced angle.
struct SineCosine {
  Value sine, cosine;
};
} // namespace

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

Value weft::expandSin(Lanes &l, Value x) {
  auto [quarter, rest] = reduceAngle(l, x);
  auto [sine, cosine] = sineCosine(l, rest);
  Value result = l.select(l.isSet(quarter, 1), cosine, sine);
  result = negateIf(l, l.isSet(quarter, 2), result);
  // The sign of a zero is lost by the reduction.
  result = l.select(l.equal(x, l.f(0)), x, result);
  return nanUnlessFinite(l, x, result);
}

Value weft::expandCos(Lanes &l, Value x) {
  auto [quarter, rest] = reduceAngle(l, x);
  auto [sine, cosine] = sineCosine(l, rest);
  Value result = l.select(l.isSet(quarter, 1), sine, cosine);
  result = negateIf(l, l.isSet(l.addI(quarter, l.i(1)), 2), result);
  return nanUnlessFinite(l, x, result);
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
