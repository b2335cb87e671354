//===- ExpandHalf.cpp - Half precision in integers ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandHalf.h"
#include "MathLanes.h"

using namespace mlir;
using namespace weft;

/// What the exponent of an f32 has more than that of the same number in f16.
static constexpr int64_t rebias = (127 - 15) << 23;
static constexpr int64_t smallestNormal = (127 - 14) << 23;
static constexpr int droppedBits = 23 - 10;

static Value isBelow(Lanes &l, Value x, int64_t limit) {
  return l.make<arith::CmpIOp>(arith::CmpIPredicate::slt, x, l.i(limit));
}

Value weft::extendHalf(OpBuilder &b, Location loc, Value bits) {
  Type of = bits.getType();
  auto vector = dyn_cast<VectorType>(of);
  Lanes l(b, loc, vector ? Type(vector.clone(b.getF32Type())) : b.getF32Type());
  Value wide = l.make<arith::ExtUIOp>(l.intType, bits);
  Value magnitude = l.shiftLeft(l.andI(wide, l.i(0x7fff)), droppedBits);
  // Infinities and NaNs keep the largest exponent.
  Value isFinite = isBelow(l, magnitude, 0x1f << 23);
  Value normal = l.addI(
      magnitude, l.select(isFinite, l.i(rebias), l.i(int64_t(2) * rebias)));
  // The mantissa of a subnormal under the smallest exponent, less the bit that
  // numbers with an exponent have: no f32 on the way is subnormal.
  Value subnormal = l.bits(
      l.sub(l.fromBits(l.addI(magnitude, l.i(smallestNormal))), l.f(0x1p-14)));
  Value result = l.select(isBelow(l, magnitude, 1 << 23), subnormal, normal);
  Value sign = l.shiftLeft(l.andI(wide, l.i(0x8000)), 16);
  return l.fromBits(l.orI(result, sign));
}

Value weft::truncateToHalf(OpBuilder &b, Location loc, Value x) {
  Lanes l(b, loc, x.getType());
  Value bits = l.bits(x);
  Value magnitude = l.andI(bits, l.i(0x7fffffff));
  // The unit of numbers from 0.5 to 1 is that of subnormals, 2^-24: the
  // addition rounds.
  Value subnormal =
      l.subI(l.bits(l.add(l.fromBits(magnitude), l.f(0.5))), l.i(0x3f000000));
  Value odd = l.andI(l.shiftRight(magnitude, droppedBits), l.i(1));
  Value normal = l.shiftRight(
      l.addI(l.addI(magnitude, l.i((1 << (droppedBits - 1)) - 1 - rebias)),
             odd),
      droppedBits);
  Value rounded =
      l.select(isBelow(l, magnitude, smallestNormal), subnormal, normal);
  Value special = l.select(l.isNan(x), l.i(0x7e00), l.i(0x7c00));
  Value result = l.select(isBelow(l, magnitude, 0x477ff000), rounded, special);
  Value sign = l.andI(l.shiftRight(bits, 16), l.i(0x8000));
  return l.make<arith::TruncIOp>(l.shaped(b.getI16Type()), l.orI(result, sign));
}
