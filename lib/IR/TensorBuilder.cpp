//===- TensorBuilder.cpp - Arithmetic on whole tensors --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/TensorBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace weft;

Value TensorBuilder::add(Value x, Value y) {
  return createOrFold<arith::AddFOp>(x, y);
}

Value TensorBuilder::sub(Value x, Value y) {
  return createOrFold<arith::SubFOp>(x, y);
}

Value TensorBuilder::mul(Value x, Value y) {
  return createOrFold<arith::MulFOp>(x, y);
}

Value TensorBuilder::div(Value x, Value y) {
  return createOrFold<arith::DivFOp>(x, y);
}

Value TensorBuilder::neg(Value x) { return createOrFold<arith::NegFOp>(x); }

Value TensorBuilder::constant(double number, Value like) {
  auto type = cast<RankedTensorType>(like.getType());
  auto element = FloatAttr::get(type.getElementType(), number);
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(type, Attribute(element)));
}

Value TensorBuilder::scale(Value x, double number) {
  return mul(x, constant(number, x));
}

Value TensorBuilder::equal(Value x, Value y) {
  return createOrFold<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, y);
}

Value TensorBuilder::less(Value x, Value y) {
  return createOrFold<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, y);
}

Value TensorBuilder::select(Value condition, Value x, Value y) {
  return createOrFold<arith::SelectOp>(condition, x, y);
}

Value TensorBuilder::keepWhere(Value condition, Value x) {
  return select(condition, x, constant(0, x));
}

Value TensorBuilder::convert(Value x, Type element) {
  auto type = cast<RankedTensorType>(x.getType());
  unsigned from = type.getElementTypeBitWidth();
  unsigned to = element.getIntOrFloatBitWidth();
  if (type.getElementType() == element)
    return x;
  // bf16 and f16 hold numbers that the other one does not.
  if (from == to)
    return convert(convert(x, getF32Type()), element);
  if (from < to)
    return arith::ExtFOp::create(*this, type.clone(element), x);
  return arith::TruncFOp::create(*this, type.clone(element), x);
}
