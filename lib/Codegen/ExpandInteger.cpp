//===- ExpandInteger.cpp - Integer operations without traps ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandInteger.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using llvm::APInt;
using Predicate = arith::CmpIPredicate;

namespace {

class Integers {
public:
  Integers(OpBuilder &b, Location loc, Type type)
      : b(b), loc(loc), type(type),
        width(getElementTypeOrSelf(type).getIntOrFloatBitWidth()) {}

  Value divide(Operation *op, Value x, Value y);
  Value shift(Operation *op, Value x, Value y);
  Value power(Value x, Value n);
  Value carry(Value x, Value sum);
  Value upperProduct(Value x, Value y, bool isSigned);

private:
  template <typename Op> Value make(Value x, Value y) {
    return Op::create(b, loc, x, y);
  }
  Value constant(const APInt &number) {
    auto scalar = IntegerAttr::get(getElementTypeOrSelf(type), number);
    if (auto vector = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(
          b, loc, DenseElementsAttr::get(vector, Attribute(scalar)));
    return arith::ConstantOp::create(b, loc, scalar);
  }
  Value compare(Predicate predicate, Value x, const APInt &number) {
    return arith::CmpIOp::create(b, loc, predicate, x, constant(number));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value roundedQuotient(Operation *op, Value x, Value y);
  Value powerOfNatural(Value x, Value n);
  Value upperProductByHalves(Value x, Value y);
  Type withWidth(unsigned bits) {
    Type element = b.getIntegerType(bits);
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }

  OpBuilder &b;
  Location loc;
  Type type;
  unsigned width;
};

} // namespace

/// x / y for a harmless y.
Value Integers::roundedQuotient(Operation *op, Value x, Value y) {
  bool isUnsigned = isa<arith::DivUIOp, arith::CeilDivUIOp>(op);
  Value quotient =
      isUnsigned ? make<arith::DivUIOp>(x, y) : make<arith::DivSIOp>(x, y);
  if (isa<arith::DivUIOp, arith::DivSIOp>(op))
    return quotient;
  APInt zero(width, 0);
  Value rest = make<arith::SubIOp>(x, make<arith::MulIOp>(quotient, y));
  Value away = compare(Predicate::ne, rest, zero);
  if (!isUnsigned) {
    // Truncation went down already if the exact quotient is positive.
    Value sign = make<arith::XOrIOp>(x, y);
    bool isFloor = isa<arith::FloorDivSIOp>(op);
    away = make<arith::AndIOp>(
        away, compare(isFloor ? Predicate::slt : Predicate::sge, sign, zero));
    if (isFloor)
      return select(away,
                    make<arith::SubIOp>(quotient, constant(APInt(width, 1))),
                    quotient);
  }
  return select(away, make<arith::AddIOp>(quotient, constant(APInt(width, 1))),
                quotient);
}

Value Integers::divide(Operation *op, Value x, Value y) {
  bool isUnsigned = isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op);
  Value byZero = compare(Predicate::eq, y, APInt(width, 0)), bad = byZero;
  if (!isUnsigned) {
    // smallest / 1 and smallest % 1 are what smallest / -1 and % -1 shall be.
    Value overflows = make<arith::AndIOp>(
        compare(Predicate::eq, x, APInt::getSignedMinValue(width)),
        compare(Predicate::eq, y, APInt::getAllOnes(width)));
    bad = make<arith::OrIOp>(bad, overflows);
  }
  Value divisor = select(bad, constant(APInt(width, 1)), y);
  if (isa<arith::RemUIOp>(op))
    return select(byZero, x, make<arith::RemUIOp>(x, divisor));
  if (isa<arith::RemSIOp>(op))
    return select(byZero, x, make<arith::RemSIOp>(x, divisor));
  return select(byZero, constant(APInt::getAllOnes(width)),
                roundedQuotient(op, x, divisor));
}

Value Integers::shift(Operation *op, Value x, Value y) {
  Value inside = compare(Predicate::ult, y, APInt(width, width));
  if (isa<arith::ShRSIOp>(op))
    return make<arith::ShRSIOp>(
        x, select(inside, y, constant(APInt(width, width - 1))));
  Value amount = select(inside, y, constant(APInt(width, 0)));
  Value shifted = isa<arith::ShLIOp>(op) ? make<arith::ShLIOp>(x, amount)
                                         : make<arith::ShRUIOp>(x, amount);
  return select(inside, shifted, constant(APInt(width, 0)));
}

/// Squares and multiplies, for n without a sign.
Value Integers::powerOfNatural(Value x, Value n) {
  auto i64 = [&](int64_t number) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(number));
  };
  Value one = constant(APInt(width, 1)), zero = constant(APInt(width, 0));
  auto loop = scf::ForOp::create(
      b, loc, i64(0), i64(width), i64(1), ValueRange{one, x, n},
      [&](OpBuilder &, Location, Value, ValueRange values) {
        Value result = values[0], square = values[1], rest = values[2];
        Value isOdd = arith::CmpIOp::create(
            b, loc, Predicate::ne, make<arith::AndIOp>(rest, one), zero);
        result = select(isOdd, make<arith::MulIOp>(result, square), result);
        square = make<arith::MulIOp>(square, square);
        // Of a single bit nothing is left.
        rest = width == 1 ? zero : make<arith::ShRUIOp>(rest, one);
        scf::YieldOp::create(b, loc, ValueRange{result, square, rest});
      });
  return loop.getResult(0);
}

/// 1 / x^-n for a negative n.
Value Integers::power(Value x, Value n) {
  APInt zero(width, 0), ones = APInt::getAllOnes(width);
  Value power = powerOfNatural(x, n);
  Value isUnit = make<arith::OrIOp>(compare(Predicate::eq, x, APInt(width, 1)),
                                    compare(Predicate::eq, x, ones));
  Value inverse =
      select(compare(Predicate::eq, x, zero), constant(ones), constant(zero));
  // The powers of 1 and -1 are those of the lowest bit of n, whatever its sign.
  Value isNegative = compare(Predicate::slt, n, zero);
  return select(isNegative, select(isUnit, power, inverse), power);
}

/// Whether the sum of x and another number wrapped around.
Value Integers::carry(Value x, Value sum) {
  return arith::CmpIOp::create(b, loc, Predicate::ult, sum, x);
}

/// Of 64 bits, without a sign, from products of 32 bits.
Value Integers::upperProductByHalves(Value x, Value y) {
  Value half = constant(APInt(width, 32)),
        lower = constant(APInt::getLowBitsSet(width, 32));
  auto high = [&](Value z) { return make<arith::ShRUIOp>(z, half); };
  auto low = [&](Value z) { return make<arith::AndIOp>(z, lower); };
  auto add = [&](Value z, Value t) { return make<arith::AddIOp>(z, t); };
  Value xy = make<arith::MulIOp>(low(x), low(y)),
        xY = make<arith::MulIOp>(low(x), high(y)),
        Xy = make<arith::MulIOp>(high(x), low(y)),
        XY = make<arith::MulIOp>(high(x), high(y));
  Value middle = add(high(xy), add(low(xY), low(Xy)));
  return add(add(XY, high(middle)), add(high(xY), high(Xy)));
}

Value Integers::upperProduct(Value x, Value y, bool isSigned) {
  if (width < 64) {
    unsigned bits = std::max(2 * width, 16u);
    auto extend = [&](Value z) -> Value {
      if (isSigned)
        return arith::ExtSIOp::create(b, loc, withWidth(bits), z);
      return arith::ExtUIOp::create(b, loc, withWidth(bits), z);
    };
    Integers wide(b, loc, withWidth(bits));
    Value product = make<arith::MulIOp>(extend(x), extend(y));
    Value upper =
        make<arith::ShRUIOp>(product, wide.constant(APInt(bits, width)));
    return arith::TruncIOp::create(b, loc, type, upper);
  }
  Value upper = upperProductByHalves(x, y);
  if (!isSigned)
    return upper;
  // A negative number counts 2^64 too much without its sign.
  APInt zero(width, 0);
  auto ifNegative = [&](Value z, Value t) {
    return select(compare(Predicate::slt, z, zero), t, constant(zero));
  };
  upper = make<arith::SubIOp>(upper, ifNegative(x, y));
  return make<arith::SubIOp>(upper, ifNegative(y, x));
}

static bool isShift(Operation *op) {
  return isa<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(op);
}

bool weft::needsIntegerExpansion(Operation *op) {
  return isShift(op) || isa<math::IPowIOp, arith::DivSIOp, arith::DivUIOp,
                            arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp,
                            arith::CeilDivUIOp, arith::FloorDivSIOp>(op);
}

Value weft::expandInteger(OpBuilder &builder, Operation *op, Value x, Value y) {
  Integers integers(builder, op->getLoc(), x.getType());
  if (isa<math::IPowIOp>(op))
    return integers.power(x, y);
  return isShift(op) ? integers.shift(op, x, y) : integers.divide(op, x, y);
}

SmallVector<Value> weft::expandExtended(OpBuilder &builder, Operation *op,
                                        Value x, Value y) {
  Location loc = op->getLoc();
  Integers integers(builder, loc, x.getType());
  if (isa<arith::AddUIExtendedOp>(op)) {
    Value sum = arith::AddIOp::create(builder, loc, x, y);
    return {sum, integers.carry(x, sum)};
  }
  Value low = arith::MulIOp::create(builder, loc, x, y);
  return {low, integers.upperProduct(x, y, isa<arith::MulSIExtendedOp>(op))};
}
