//===- MathLanes.h - Floating-point arithmetic on lanes ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes formulas as operations on values of one floating-point type, f32 or
// f64, scalar or vector, and on the integers of the same width.
//
//   Lanes l(b, loc, x.getType());
//   Value hypotenuse = l.sqrt(l.fma(x, x, l.mul(y, y)));

#ifndef WEFT_LIB_CODEGEN_MATHLANES_H
#define WEFT_LIB_CODEGEN_MATHLANES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

namespace weft {

class Lanes {
public:
  using Value = mlir::Value;

  Lanes(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type)
      : b(b), loc(loc), type(type),
        intType(shaped(b.getIntegerType(
            mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth()))) {}

  bool wide() const { return mlir::getElementTypeOrSelf(type).isF64(); }
  int mantissaBits() const { return wide() ? 52 : 23; }
  int bias() const { return wide() ? 1023 : 127; }
  double smallestNormal() const { return wide() ? 0x1p-1022 : 0x1p-126; }
  static double infinity() { return std::numeric_limits<double>::infinity(); }
  static double nan() { return std::numeric_limits<double>::quiet_NaN(); }

  /// Arithmetic in f64 on as many lanes.
  Lanes inDouble() { return {b, loc, shaped(b.getF64Type())}; }
  Value toDouble(Value x) {
    return wide() ? x : make<mlir::arith::ExtFOp>(shaped(b.getF64Type()), x);
  }
  Value fromDouble(Value x) {
    return wide() ? x : make<mlir::arith::TruncFOp>(type, x);
  }

  Value f(double value) {
    return constant(type, b.getFloatAttr(mlir::getElementTypeOrSelf(type),
                                         wide() ? value : float(value)));
  }
  /// One number for f32 and one for f64.
  Value f(double narrow, double wideValue) {
    return f(wide() ? wideValue : narrow);
  }
  Value i(int64_t value) {
    return constant(
        intType, b.getIntegerAttr(mlir::getElementTypeOrSelf(intType), value));
  }

  Value add(Value x, Value y) { return make<mlir::arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return make<mlir::arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return make<mlir::arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return make<mlir::arith::DivFOp>(x, y); }
  Value neg(Value x) { return make<mlir::arith::NegFOp>(x); }
  /// x * y + z, rounded once.
  Value fma(Value x, Value y, Value z) {
    return make<mlir::math::FmaOp>(x, y, z);
  }
  /// z - x * y, rounded once.
  Value fnma(Value x, Value y, Value z) { return fma(neg(x), y, z); }
  Value sqrt(Value x) { return make<mlir::math::SqrtOp>(x); }
  Value abs(Value x) { return make<mlir::math::AbsFOp>(x); }
  Value trunc(Value x) { return make<mlir::math::TruncOp>(x); }
  Value copySign(Value x, Value sign) {
    return make<mlir::math::CopySignOp>(x, sign);
  }
  /// The larger one; NaN if one is.
  Value max(Value x, Value y) { return make<mlir::arith::MaximumFOp>(x, y); }
  Value min(Value x, Value y) { return make<mlir::arith::MinimumFOp>(x, y); }

  Value addI(Value x, Value y) { return make<mlir::arith::AddIOp>(x, y); }
  Value subI(Value x, Value y) { return make<mlir::arith::SubIOp>(x, y); }
  Value mulI(Value x, Value y) { return make<mlir::arith::MulIOp>(x, y); }
  Value andI(Value x, Value y) { return make<mlir::arith::AndIOp>(x, y); }
  Value orI(Value x, Value y) { return make<mlir::arith::OrIOp>(x, y); }
  Value xorI(Value x, Value y) { return make<mlir::arith::XOrIOp>(x, y); }
  Value shiftLeft(Value x, int by) {
    return make<mlir::arith::ShLIOp>(x, i(by));
  }
  Value shiftRight(Value x, int by) {
    return make<mlir::arith::ShRSIOp>(x, i(by));
  }
  Value bits(Value x) { return make<mlir::arith::BitcastOp>(intType, x); }
  Value fromBits(Value x) { return make<mlir::arith::BitcastOp>(type, x); }
  Value toFloat(Value x) { return make<mlir::arith::SIToFPOp>(type, x); }

  Value less(Value x, Value y) {
    return compare(mlir::arith::CmpFPredicate::OLT, x, y);
  }
  Value atMost(Value x, Value y) {
    return compare(mlir::arith::CmpFPredicate::OLE, x, y);
  }
  Value equal(Value x, Value y) {
    return compare(mlir::arith::CmpFPredicate::OEQ, x, y);
  }
  Value isNan(Value x) {
    return compare(mlir::arith::CmpFPredicate::UNO, x, x);
  }
  Value isFinite(Value x) { return less(abs(x), f(infinity())); }
  Value isSet(Value x, int64_t bit) {
    return make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::ne,
                                     andI(x, i(bit)), i(0));
  }
  /// Also of a zero.
  Value isNegative(Value x) {
    return make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::slt, bits(x),
                                     i(0));
  }
  /// Of conditions.
  Value both(Value x, Value y) { return andI(x, y); }
  Value either(Value x, Value y) { return orI(x, y); }
  Value negate(Value condition) {
    mlir::Type of = condition.getType();
    return xorI(condition, constant(of, b.getBoolAttr(true)));
  }
  Value select(Value condition, Value x, Value y) {
    return make<mlir::arith::SelectOp>(condition, x, y);
  }

  /// A single condition: that of some lane.
  Value any(Value condition) {
    if (!mlir::isa<mlir::VectorType>(condition.getType()))
      return condition;
    return make<mlir::vector::ReductionOp>(mlir::vector::CombiningKind::OR,
                                           condition);
  }

  /// x limited to [low, high]; NaN stays NaN.
  Value clamp(Value x, double low, double high) {
    Value y = select(less(x, f(low)), f(low), x);
    return select(less(f(high), y), f(high), y);
  }
  /// 2^n for an integer n in the range of normal exponents.
  Value pow2(Value n) {
    return fromBits(shiftLeft(addI(n, i(bias())), mantissaBits()));
  }
  /// c[0] + x * (c[1] + x * ...).
  Value polynomial(Value x, llvm::ArrayRef<double> c) {
    Value sum = f(c.back());
    for (double coefficient : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, f(coefficient));
    return sum;
  }

  template <typename Op, typename... Operands> Op make(Operands &&...operands) {
    return Op::create(b, loc, std::forward<Operands>(operands)...);
  }
  /// `scalar` in every lane of a type.
  Value constant(mlir::Type of, mlir::TypedAttr scalar) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(of))
      scalar = mlir::DenseElementsAttr::get(vector, mlir::Attribute(scalar));
    return make<mlir::arith::ConstantOp>(scalar);
  }
  /// A number, or a vector of as many lanes as `type` has.
  mlir::Type shaped(mlir::Type element) const {
    auto vector = mlir::dyn_cast<mlir::VectorType>(type);
    return vector ? vector.clone(element) : element;
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type type, intType;

private:
  Value compare(mlir::arith::CmpFPredicate predicate, Value x, Value y) {
    return make<mlir::arith::CmpFOp>(predicate, x, y);
  }
};

/// The unrounded sum high + low, with |low| at most half a unit of high.
struct Pair {
  mlir::Value high, low;
};

/// x + y.
inline Pair sumOf(Lanes &l, mlir::Value x, mlir::Value y) {
  mlir::Value high = l.add(x, y), part = l.sub(high, x);
  return {high, l.add(l.sub(x, l.sub(high, part)), l.sub(y, part))};
}

/// x + y for |x| >= |y|, in three operations.
inline Pair sumOfOrdered(Lanes &l, mlir::Value x, mlir::Value y) {
  mlir::Value high = l.add(x, y);
  return {high, l.sub(y, l.sub(high, x))};
}

/// x * y.
inline Pair productOf(Lanes &l, mlir::Value x, mlir::Value y) {
  mlir::Value high = l.mul(x, y);
  return {high, l.fma(x, y, l.neg(high))};
}

} // namespace weft

#endif // WEFT_LIB_CODEGEN_MATHLANES_H
