//===- TensorBuilder.h - Arithmetic on whole tensors ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What derivatives and decompositions are written with.
//
// Example: x / (1 + exp(-x))
//
//   Value e = math::ExpOp::create(b, b.neg(x));
//   Value r = b.div(x, b.add(b.constant(1, x), e));
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_TENSORBUILDER_H
#define WEFT_IR_TENSORBUILDER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace weft {

/// Operands of one call are floating-point tensors of one type. What is a
/// constant or one of the operands is not computed.
class TensorBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value neg(mlir::Value x);
  /// `number` in every element of a tensor with the type of `like`.
  mlir::Value constant(double number, mlir::Value like);
  mlir::Value scale(mlir::Value x, double number);
  mlir::Value equal(mlir::Value x, mlir::Value y);
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// x where the condition holds, else 0.
  mlir::Value keepWhere(mlir::Value condition, mlir::Value x);
  /// The numbers of x in another floating-point type.
  mlir::Value convert(mlir::Value x, mlir::Type element);
};

} // namespace weft

#endif // WEFT_IR_TENSORBUILDER_H
