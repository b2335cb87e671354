//===- ExpandInteger.cpp - Integer operations without traps ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandInteger.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

static bool isShift(Operation *op) {
  return isa<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(op);
}

bool weft::needsIntegerExpansion(Operation *op) {
  return isShift(op) ||
         isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
             arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op);
}

Value weft::expandInteger(OpBuilder &builder, Operation *op, Value x, Value y) {
  Integers integers(builder, op->getLoc(), x.getType());
  return isShift(op) ? integers.shift(op, x, y) : integers.divide(op, x, y);
}
