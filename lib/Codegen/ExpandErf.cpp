//===- ExpandErf.cpp - Error functions ------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MathCoefficients.h"
#include "MathFunctions.h"

using namespace mlir;
using namespace weft;

/// erf x = x + x * P(x^2) for |x| <= 1, where 1 - erf cancels.
static Value nearErf(Lanes &l, Value x) {
  static const double narrow[] = {1.28379166e-1f, -3.76125336e-1f,
                                  1.12819925e-1f, -2.67681349e-2f,
                                  4.99119423e-3f, -5.96761703e-4f};
  Value square = l.mul(x, x);
  Value p = l.wide() ? l.polynomial(square, erfNearWide)
                     : l.polynomial(square, narrow);
  return l.fma(p, x, x);
}

/// f32: erf a = 1 - exp(Q(a)) for a > 0.92.
static Value farErf(Lanes &l, Value a) {
  // 4 and more give 1; the bound keeps infinity out of the polynomial.
  Value bounded = l.select(l.less(l.f(4), a), l.f(4), a);
  static const double far[] = {
      -1.28717512e-1f, -6.34846687e-1f, -1.06777877e-1f, 2.42546219e-2f,
      -3.88396438e-3f, 3.83197126e-4f,  -1.72853470e-5f};
  Value exponent =
      l.fma(l.polynomial(bounded, far), bounded, l.sub(l.f(0), bounded));
  return l.sub(l.f(1), expandExp(l, exponent));
}

/// erfc(a) = exp(-a^2) * P((a - 4) / (a + 4)) / (1 + 2 a) for a >= 1/2. The
/// square needs twice the digits.
static Value upperErfc(Lanes &l, Value a) {
  Value bounded = l.clamp(a, 0.5, l.wide() ? 27.4 : 10.2);
  Value t = l.div(l.sub(bounded, l.f(4)), l.add(bounded, l.f(4)));
  Value scaled = l.wide() ? l.polynomial(t, erfcScaledWide)
                          : l.polynomial(t, erfcScaledNarrow);
  scaled = l.div(scaled, l.fma(bounded, l.f(2), l.f(1)));
  Value negative = l.neg(bounded);
  return expandExpOf(l, productOf(l, negative, bounded), scaled);
}

Value weft::expandErf(Lanes &l, Value x) {
  Value a = l.abs(x);
  Value far = l.wide() ? l.sub(l.f(1), upperErfc(l, a)) : farErf(l, a);
  Value isFar = l.less(l.f(0.927734375, 1), a);
  return l.select(isFar, l.copySign(far, x), nearErf(l, x));
}

/// erfc(-a) = 2 - erfc(a).
Value weft::expandErfc(Lanes &l, Value x) {
  Value a = l.abs(x), upper = upperErfc(l, a);
  Value far = l.select(l.isNegative(x), l.sub(l.f(2), upper), upper);
  Value near = l.sub(l.f(1), nearErf(l, x));
  return l.select(l.less(l.f(0.5), a), far, near);
}
