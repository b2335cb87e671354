//===- AttachVjp.h - Attaching derivatives to upstream ops ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns a function into the VjpOpInterface of an op, for the files that list
// those of a dialect:
//
//   attachVjp<arith::NegFOp, negVjp>(context);
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IR_ATTACHVJP_H
#define WEFT_LIB_IR_ATTACHVJP_H

#include "weft/IR/VjpBuilder.h"
#include "weft/IR/VjpOpInterface.h"

namespace weft {

/// Model of an op by a function that adds the operands' cotangents.
template <typename Op, void (*rule)(Op, VjpBuilder &)>
struct VjpModel : VjpOpInterface::ExternalModel<VjpModel<Op, rule>, Op> {
  void buildVjp(mlir::Operation *op, VjpBuilder &builder) const {
    rule(mlir::cast<Op>(op), builder);
  }
};

template <typename Op, void (*rule)(Op, VjpBuilder &)>
void attachVjp(mlir::MLIRContext *context) {
  Op::template attachInterface<VjpModel<Op, rule>>(*context);
}

/// Model of an op whose result does not change with small changes of its
/// operands.
template <typename Op>
struct FlatModel : VjpOpInterface::ExternalModel<FlatModel<Op>, Op> {
  void buildVjp(mlir::Operation *, VjpBuilder &) const {}
  bool isFlatIn(mlir::Operation *, unsigned) const { return true; }
};

template <typename... Ops> void attachFlat(mlir::MLIRContext *context) {
  (Ops::template attachInterface<FlatModel<Ops>>(*context), ...);
}

/// dx of r = f(x), given the cotangent g of r.
using UnaryRule = mlir::Value (*)(VjpBuilder &b, mlir::Value g, mlir::Value x,
                                  mlir::Value r);

template <typename Op, UnaryRule rule> void unaryVjp(Op op, VjpBuilder &b) {
  b.addCotangent(
      0, rule(b, b.getCotangent(), op->getOperand(0), op->getResult(0)));
}

template <typename Op, UnaryRule rule>
void attachUnary(mlir::MLIRContext *context) {
  attachVjp<Op, unaryVjp<Op, rule>>(context);
}

void attachArithVjps(mlir::MLIRContext *context);
void attachMathVjps(mlir::MLIRContext *context);
void attachRearrangeVjp(mlir::MLIRContext *context);

} // namespace weft

#endif // WEFT_LIB_IR_ATTACHVJP_H
