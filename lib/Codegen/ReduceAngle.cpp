//===- ReduceAngle.cpp - Angles to the first octant -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Angles of moderate size lose multiples of pi / 2 in three parts (Cody and
// Waite). Larger ones are multiplied with those bits of 2 / pi that count
// (Payne and Hanek), one lane after the other and only if there is one.

#include "MathCoefficients.h"
#include "MathFunctions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace weft;

/// Products of pi / 2 up to here have a high part without rounding.
static double moderateLimit(Lanes &l) { return l.wide() ? 0x1p30 : 0x1p17; }

static Angle reduceModerate(Lanes &l, Value x) {
  Value magic = l.f(0x1.8p23, 0x1.8p52);
  Value shifted = l.fma(x, l.f(0x1.45f306dc9c883p-1), magic);
  Value n = l.sub(shifted, magic);
  Value quarter = l.subI(l.bits(shifted), l.bits(magic));
  // x is a multiple of the last place of the first part, or below it.
  Value rest = l.fnma(n, l.f(0x1.921fb6p+0, 0x1.921fb54442d18p+0), x);
  Pair second = productOf(l, n, l.f(-0x1.777a5cp-25, 0x1.1a62633145c07p-54));
  Pair sum = sumOf(l, rest, l.neg(second.high));
  Value third = l.f(-0x1.ee59dap-50, -0x1.f1976b7ed8fbcp-110);
  Value low = l.fnma(n, third, l.sub(sum.low, second.low));
  return {quarter, sumOfOrdered(l, sum.high, low)};
}

namespace {

/// Integers of 64 bits and f64 numbers, one at a time.
class LargeAngle {
public:
  LargeAngle(OpBuilder &b, Location loc) : l(b, loc, b.getF64Type()) {}

  /// x is finite and at least 2^17.
  Angle reduce(Value x);

private:
  using Words = std::array<Value, 3>;
  Value shiftLeft(Value x, Value by) { return l.make<arith::ShLIOp>(x, by); }
  Value shiftRight(Value x, Value by) { return l.make<arith::ShRUIOp>(x, by); }
  Value carryOf(Value sum, Value addend);
  Value fraction(Value word, int power);
  Value loadWord(Value number);
  Words loadWindow(Value exponent);
  Words multiply(Value mantissa, const Words &window);

  Lanes l;
};

} // namespace

/// The bits are a constant vector, which LLVM keeps in memory: here is no
/// module to add a table to.
Value LargeAngle::loadWord(Value number) {
  int64_t count = std::size(twoOverPi);
  auto type = VectorType::get({count}, l.b.getI64Type());
  Value table = l.make<arith::ConstantOp>(
      DenseElementsAttr::get(type, ArrayRef(twoOverPi)));
  return l.make<LLVM::ExtractElementOp>(table, number);
}

/// 192 bits of 2 / pi for x = mantissa * 2^exponent, from the one that makes
/// the mantissa count in units of 2. Bits before them give whole turns.
LargeAngle::Words LargeAngle::loadWindow(Value exponent) {
  // The table starts with 64 zeros, then the bit of 1/2.
  Value first = l.addI(exponent, l.i(62));
  Value word = shiftRight(first, l.i(6)), shift = l.andI(first, l.i(63));
  std::array<Value, 4> given;
  for (int k = 0; k < 4; ++k)
    given[k] = loadWord(l.addI(word, l.i(k)));
  Words window;
  for (int k = 0; k < 3; ++k) {
    Value next =
        shiftRight(shiftRight(given[k + 1], l.i(1)), l.subI(l.i(63), shift));
    window[k] = l.orI(shiftLeft(given[k], shift), next);
  }
  return window;
}

Value LargeAngle::carryOf(Value sum, Value addend) {
  Value carry = l.make<arith::CmpIOp>(arith::CmpIPredicate::ult, sum, addend);
  return l.make<arith::ExtUIOp>(l.b.getI64Type(), carry);
}

/// The lowest 192 bits of the product, the most significant word first.
LargeAngle::Words LargeAngle::multiply(Value mantissa, const Words &window) {
  auto low = l.make<arith::MulUIExtendedOp>(mantissa, window[2]);
  auto middle = l.make<arith::MulUIExtendedOp>(mantissa, window[1]);
  Value sum = l.addI(middle.getLow(), low.getHigh());
  Value high = l.addI(l.mulI(mantissa, window[0]), middle.getHigh());
  return {l.addI(high, carryOf(sum, low.getHigh())), sum, low.getLow()};
}

/// 32 bits as a number, times a power of two.
Value LargeAngle::fraction(Value word, int power) {
  return l.mul(l.toFloat(word), l.f(std::ldexp(1, power)));
}

Angle LargeAngle::reduce(Value x) {
  Value bits = l.bits(x);
  Value exponent =
      l.subI(l.andI(shiftRight(bits, l.i(52)), l.i(0x7ff)), l.i(1075));
  Value mantissa =
      l.orI(l.andI(bits, l.i((int64_t(1) << 52) - 1)), l.i(int64_t(1) << 52));
  // Quarters of a turn: two bits and a fraction of 190.
  Words turn = multiply(mantissa, loadWindow(exponent));
  auto joined = [&](int k) {
    return l.orI(shiftLeft(turn[k], l.i(2)), shiftRight(turn[k + 1], l.i(62)));
  };
  Value high = joined(0), low = joined(1);
  // A half and more counts as the negative rest to the next quarter.
  Value above = l.shiftRight(high, 63);
  Value quarter = l.subI(shiftRight(turn[0], l.i(62)), above);
  high = l.xorI(high, above);
  low = l.xorI(low, above); // less by 2^-128, which does not count

  Value mask = l.i(0xffffffff), by = l.i(32);
  Pair sum = sumOfOrdered(l, fraction(shiftRight(high, by), -32),
                          fraction(l.andI(high, mask), -64));
  Value more = l.add(fraction(shiftRight(low, by), -96),
                     fraction(l.andI(low, mask), -128));
  sum = sumOfOrdered(l, sum.high, l.add(sum.low, more));
  Pair rest = productOf(l, sum.high, l.f(0x1.921fb54442d18p+0));
  rest.low = l.fma(sum.high, l.f(0x1.1a62633145c07p-54), rest.low);
  rest.low = l.fma(sum.low, l.f(0x1.921fb54442d18p+0), rest.low);
  rest = sumOfOrdered(l, rest.high, rest.low);

  Value isBelow = l.isNegative(x);
  Value isNegative = l.make<arith::XOrIOp>(
      isBelow, l.make<arith::CmpIOp>(arith::CmpIPredicate::ne, above, l.i(0)));
  auto withSign = [&](Value value) {
    return l.select(isNegative, l.neg(value), value);
  };
  quarter = l.select(isBelow, l.subI(l.i(0), quarter), quarter);
  return {quarter, {withSign(rest.high), withSign(rest.low)}};
}

/// Every lane of `x`, at least 2^17 each, in f64 and i64.
static Angle reduceLarge(Lanes &l, Value x) {
  OpBuilder &b = l.b;
  auto vector = dyn_cast<VectorType>(x.getType());
  if (!vector)
    return LargeAngle(b, l.loc).reduce(x);
  Lanes wide = l.inDouble();
  auto i64 = [&](int64_t number) {
    return arith::ConstantOp::create(b, l.loc, b.getI64IntegerAttr(number));
  };
  SmallVector<Value> start = {wide.i(0), wide.f(0), wide.f(0)};
  auto loop = scf::ForOp::create(
      b, l.loc, i64(0), i64(vector.getNumElements()), i64(1), start,
      [&](OpBuilder &, Location loc, Value lane, ValueRange lanes) {
        Value number = LLVM::ExtractElementOp::create(b, loc, x, lane);
        Angle angle = LargeAngle(b, loc).reduce(number);
        Value parts[] = {angle.quarter, angle.rest.high, angle.rest.low};
        SmallVector<Value> next;
        for (auto [all, part] : llvm::zip_equal(lanes, parts))
          next.push_back(
              LLVM::InsertElementOp::create(b, loc, all, part, lane));
        scf::YieldOp::create(b, loc, next);
      });
  return {loop.getResult(0), {loop.getResult(1), loop.getResult(2)}};
}

/// In the type of `l`.
static Angle narrowed(Lanes &l, const Angle &angle) {
  if (l.wide())
    return angle;
  Value high = l.fromDouble(angle.rest.high);
  Value difference = l.inDouble().sub(angle.rest.high, l.toDouble(high));
  return {l.make<arith::TruncIOp>(l.intType, angle.quarter),
          {high, l.fromDouble(difference)}};
}

Angle weft::reduceAngle(Lanes &l, Value x) {
  OpBuilder &b = l.b;
  Angle moderate = reduceModerate(l, x);
  Value isLarge =
      l.both(l.less(l.f(moderateLimit(l)), l.abs(x)), l.isFinite(x));
  Value kept[] = {moderate.quarter, moderate.rest.high, moderate.rest.low};
  auto chosen = scf::IfOp::create(
      b, l.loc, l.any(isLarge),
      [&](OpBuilder &, Location loc) {
        Value large = l.select(isLarge, x, l.f(moderateLimit(l)));
        Angle angle = narrowed(l, reduceLarge(l, l.toDouble(large)));
        Value parts[] = {angle.quarter, angle.rest.high, angle.rest.low};
        SmallVector<Value> mixed;
        for (auto [part, other] : llvm::zip_equal(parts, kept))
          mixed.push_back(l.select(isLarge, part, other));
        scf::YieldOp::create(b, loc, mixed);
      },
      [&](OpBuilder &, Location loc) { scf::YieldOp::create(b, loc, kept); });
  return {chosen.getResult(0), {chosen.getResult(1), chosen.getResult(2)}};
}
