//===- MathFunctions.h - Expansions of functions ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that ExpandMath chooses from, one source file a family. All are
// defined for every argument, infinities and NaNs included.

#ifndef WEFT_LIB_CODEGEN_MATHFUNCTIONS_H
#define WEFT_LIB_CODEGEN_MATHFUNCTIONS_H

#include "MathLanes.h"

namespace weft {

// ExpandExponential.cpp
mlir::Value expandExp(Lanes &l, mlir::Value x);
mlir::Value expandExp2(Lanes &l, mlir::Value x);
mlir::Value expandExpm1(Lanes &l, mlir::Value x);
mlir::Value expandSinh(Lanes &l, mlir::Value x);
mlir::Value expandCosh(Lanes &l, mlir::Value x);
mlir::Value expandTanh(Lanes &l, mlir::Value x);
/// exp(x.high + x.low) * factor, where only the last operation may leave the
/// normal numbers; any finite x.high.
mlir::Value expandExpOf(Lanes &l, Pair x, mlir::Value factor);

// ExpandLogarithm.cpp
mlir::Value expandLog(Lanes &l, mlir::Value x);
mlir::Value expandLog2(Lanes &l, mlir::Value x);
mlir::Value expandLog10(Lanes &l, mlir::Value x);
mlir::Value expandLog1p(Lanes &l, mlir::Value x);
mlir::Value expandAsinh(Lanes &l, mlir::Value x);
mlir::Value expandAcosh(Lanes &l, mlir::Value x);
mlir::Value expandAtanh(Lanes &l, mlir::Value x);
/// log x with twice the digits, for f64 x that is positive and finite.
Pair expandPreciseLog(Lanes &l, mlir::Value x);

// ExpandPower.cpp
mlir::Value expandPow(Lanes &l, mlir::Value x, mlir::Value y);
/// `n`: integers of any width.
mlir::Value expandIntegerPower(Lanes &l, mlir::Value x, mlir::Value n);
mlir::Value expandCbrt(Lanes &l, mlir::Value x);

// ExpandErf.cpp
mlir::Value expandErf(Lanes &l, mlir::Value x);
mlir::Value expandErfc(Lanes &l, mlir::Value x);

// ExpandTrigonometry.cpp
mlir::Value expandSin(Lanes &l, mlir::Value x);
mlir::Value expandCos(Lanes &l, mlir::Value x);
struct SineCosine {
  mlir::Value sine, cosine;
};
/// The bits of expandSin and expandCos, with one reduction of the angle.
SineCosine expandSinAndCos(Lanes &l, mlir::Value x);
mlir::Value expandTan(Lanes &l, mlir::Value x);

// ReduceAngle.cpp
/// An angle is quarter * pi / 2 + rest, with |rest| <= pi / 4 but for rounding.
struct Angle {
  /// An integer; its lowest two bits count.
  mlir::Value quarter;
  Pair rest;
};
/// Anything for infinities and NaNs.
Angle reduceAngle(Lanes &l, mlir::Value x);

// ExpandArc.cpp
mlir::Value expandAsin(Lanes &l, mlir::Value x);
mlir::Value expandAcos(Lanes &l, mlir::Value x);
mlir::Value expandAtan(Lanes &l, mlir::Value x);
mlir::Value expandAtan2(Lanes &l, mlir::Value y, mlir::Value x);

// ExpandRemainder.cpp
/// x - n * y for the integer n that is x / y without its fraction; exact.
mlir::Value expandRemainder(Lanes &l, mlir::Value x, mlir::Value y);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_MATHFUNCTIONS_H
