//===- ExpandConversion.cpp - Numbers to integers -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandConversion.h"
#include "MathLanes.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using llvm::APInt;

bool weft::needsConversionExpansion(Operation *op) {
  return isa<arith::FPToSIOp, arith::FPToUIOp>(op);
}

Value weft::expandConversion(OpBuilder &builder, Operation *op, Value x,
                             Type element) {
  Lanes l(builder, op->getLoc(), x.getType());
  unsigned width = element.getIntOrFloatBitWidth();
  bool isSigned = isa<arith::FPToSIOp>(op);
  Type type = l.shaped(element);
  auto integer = [&](const APInt &number) -> Value {
    return l.constant(type, IntegerAttr::get(element, number));
  };
  // Without its fraction a number fits in [least, limit).
  Value whole = l.trunc(x);
  Value least = l.f(isSigned ? -std::ldexp(1, width - 1) : 0);
  Value limit = l.f(std::ldexp(1, isSigned ? width - 1 : width));
  Value isBelow = l.less(whole, least), isAbove = l.atMost(limit, whole);
  Value isOutside = l.either(l.either(isBelow, isAbove), l.isNan(x));
  Value inside = l.select(isOutside, l.f(0), whole);
  Value result = isSigned ? Value(l.make<arith::FPToSIOp>(type, inside))
                          : Value(l.make<arith::FPToUIOp>(type, inside));
  result = l.select(isBelow,
                    integer(isSigned ? APInt::getSignedMinValue(width)
                                     : APInt::getMinValue(width)),
                    result);
  return l.select(isAbove,
                  integer(isSigned ? APInt::getSignedMaxValue(width)
                                   : APInt::getMaxValue(width)),
                  result);
}
