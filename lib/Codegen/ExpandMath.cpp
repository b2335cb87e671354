//===- ExpandMath.cpp - Functions without instructions --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandMath.h"
#include "MathFunctions.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;

/// Half away from zero.
static Value expandRound(Lanes &l, Value x) {
  Value whole = l.trunc(x);
  Value isHalf = l.atMost(l.f(0.5), l.abs(l.sub(x, whole)));
  Value away = l.add(whole, l.copySign(l.f(1), x));
  return l.copySign(l.select(isHalf, away, whole), x);
}

/// The other one of a NaN and a number.
static Value chooseNumber(Lanes &l, Value x, Value y, Value result) {
  return l.select(l.isNan(x), y, l.select(l.isNan(y), x, result));
}

/// As a number of type `element`, which x may be wider than.
static Value isNormal(Lanes &l, Value x, Type element) {
  APFloat smallest = APFloat::getSmallestNormalized(
      cast<FloatType>(element).getFloatSemantics());
  return l.both(l.isFinite(x),
                l.atMost(l.f(smallest.convertToDouble()), l.abs(x)));
}

bool weft::needsMathExpansion(Operation *op) {
  if (isa<arith::RemFOp, arith::MaxNumFOp, arith::MinNumFOp>(op))
    return true;
  return isa<math::MathDialect>(op->getDialect()) &&
         !isa<math::AbsFOp, math::AbsIOp, math::SqrtOp, math::FmaOp,
              math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp,
              math::CopySignOp, math::CtPopOp, math::CountLeadingZerosOp,
              math::CountTrailingZerosOp, math::IPowIOp>(op);
}

/// Of one operand.
static Value expandUnary(Lanes &l, Operation *op, Value x) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::AcosOp) { return expandAcos(l, x); })
      .Case([&](math::AcoshOp) { return expandAcosh(l, x); })
      .Case([&](math::AsinOp) { return expandAsin(l, x); })
      .Case([&](math::AsinhOp) { return expandAsinh(l, x); })
      .Case([&](math::AtanOp) { return expandAtan(l, x); })
      .Case([&](math::AtanhOp) { return expandAtanh(l, x); })
      .Case([&](math::CbrtOp) { return expandCbrt(l, x); })
      .Case([&](math::CosOp) { return expandCos(l, x); })
      .Case([&](math::CoshOp) { return expandCosh(l, x); })
      .Case([&](math::ErfOp) { return expandErf(l, x); })
      .Case([&](math::ErfcOp) { return expandErfc(l, x); })
      .Case([&](math::ExpOp) { return expandExp(l, x); })
      .Case([&](math::Exp2Op) { return expandExp2(l, x); })
      .Case([&](math::ExpM1Op) { return expandExpm1(l, x); })
      .Case([&](math::IsFiniteOp) { return l.isFinite(x); })
      .Case([&](math::IsInfOp) { return l.equal(l.abs(x), l.f(l.infinity())); })
      .Case([&](math::IsNaNOp) { return l.isNan(x); })
      .Case([&](math::IsNormalOp is) {
        return isNormal(l, x, getElementTypeOrSelf(is.getOperand()));
      })
      .Case([&](math::LogOp) { return expandLog(l, x); })
      .Case([&](math::Log10Op) { return expandLog10(l, x); })
      .Case([&](math::Log1pOp) { return expandLog1p(l, x); })
      .Case([&](math::Log2Op) { return expandLog2(l, x); })
      .Case([&](math::RoundOp) { return expandRound(l, x); })
      .Case([&](math::RsqrtOp) { return l.div(l.f(1), l.sqrt(x)); })
      .Case([&](math::SinOp) { return expandSin(l, x); })
      .Case([&](math::SinhOp) { return expandSinh(l, x); })
      .Case([&](math::TanOp) { return expandTan(l, x); })
      .Case([&](math::TanhOp) { return expandTanh(l, x); });
}

SmallVector<Value> weft::expandSincos(OpBuilder &builder, Location loc,
                                      Value angle) {
  Lanes l(builder, loc, angle.getType());
  auto [sine, cosine] = expandSinAndCos(l, angle);
  return {sine, cosine};
}

Value weft::expandMath(OpBuilder &builder, Operation *op, ValueRange operands) {
  Value x = operands[0];
  Lanes l(builder, op->getLoc(), x.getType());
  if (operands.size() == 1)
    return expandUnary(l, op, x);
  Value y = operands[1];
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::Atan2Op) { return expandAtan2(l, x, y); })
      // With bounds in the wrong order the upper one, as in StableHLO.
      .Case([&](math::ClampFOp) { return l.min(l.max(x, y), operands[2]); })
      .Case([&](math::FPowIOp) { return expandIntegerPower(l, x, y); })
      .Case([&](math::PowFOp) { return expandPow(l, x, y); })
      .Case([&](arith::RemFOp) { return expandRemainder(l, x, y); })
      .Case(
          [&](arith::MaxNumFOp) { return chooseNumber(l, x, y, l.max(x, y)); })
      .Case(
          [&](arith::MinNumFOp) { return chooseNumber(l, x, y, l.min(x, y)); });
}
