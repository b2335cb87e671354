//===- ValueName.h - What users call a value --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages and causes speak of parameters by name and of other values by op and
// location: `"w1"`, `weft.dot_general (mlp.mlir:42)`, `result "loss"`.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_VALUENAME_H
#define WEFT_IR_VALUENAME_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft {

std::string nameOf(mlir::Value value);
std::string nameOf(mlir::Operation *op);
std::string nameOfResult(mlir::func::FuncOp function, unsigned index);

/// The name of the operand's user: an op, or a result of the function.
std::string nameOf(mlir::OpOperand &use);

/// As nameOf, to stand behind the name of `source`: a place in the program that
/// both have is not repeated.
std::string nameOfUser(mlir::OpOperand &use, mlir::Value source);

} // namespace weft

#endif // WEFT_IR_VALUENAME_H
