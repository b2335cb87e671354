//===- VjpBuilder.cpp - What a derivative is written with -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/VjpBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;

bool weft::carriesCotangent(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

void VjpBuilder::addCotangent(unsigned operand, Value cotangent) {
  Value &sum = operands[operand];
  sum = sum ? add(sum, cotangent) : cotangent;
}

Value VjpBuilder::add(Value x, Value y) {
  return createOrFold<arith::AddFOp>(x, y);
}

Value VjpBuilder::sub(Value x, Value y) {
  return createOrFold<arith::SubFOp>(x, y);
}

Value VjpBuilder::mul(Value x, Value y) {
  return createOrFold<arith::MulFOp>(x, y);
}

Value VjpBuilder::div(Value x, Value y) {
  return createOrFold<arith::DivFOp>(x, y);
}

Value VjpBuilder::neg(Value x) { return createOrFold<arith::NegFOp>(x); }

Value VjpBuilder::constant(double number, Value like) {
  auto type = cast<RankedTensorType>(like.getType());
  auto element = FloatAttr::get(type.getElementType(), number);
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(type, Attribute(element)));
}

Value VjpBuilder::scale(Value x, double number) {
  return mul(x, constant(number, x));
}

Value VjpBuilder::equal(Value x, Value y) {
  return createOrFold<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, y);
}

Value VjpBuilder::less(Value x, Value y) {
  return createOrFold<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, y);
}

Value VjpBuilder::select(Value condition, Value x, Value y) {
  return createOrFold<arith::SelectOp>(condition, x, y);
}

Value VjpBuilder::keepWhere(Value condition, Value x) {
  return select(condition, x, constant(0, x));
}
