//===- MathCalls.h - Functions that kernels call ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function takes a hundred instructions or more, and LLVM's time for a
// kernel grows faster than its size. A kernel with many functions calls them:
// each is emitted once a module, for the types and lanes that it is used with.
// The others have theirs inlined, which saves the call and the registers that
// it clobbers. The numbers are the same.

#ifndef WEFT_LIB_CODEGEN_MATHCALLS_H
#define WEFT_LIB_CODEGEN_MATHCALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/StringMap.h"

namespace weft {

class MathCalls {
public:
  explicit MathCalls(mlir::ModuleOp module) : module(module) {}

  /// Whether `kernel` has so many functions that it should call them.
  static bool areFor(mlir::func::FuncOp kernel);
  /// Whether `op` is long enough for a call.
  static bool isLong(mlir::Operation *op);

  /// What expandMath gives.
  mlir::Value call(mlir::OpBuilder &b, mlir::Operation *op,
                   mlir::ValueRange operands);

private:
  mlir::LLVM::LLVMFuncOp emit(mlir::Operation *op, mlir::ValueRange operands,
                              llvm::StringRef name);

  mlir::ModuleOp module;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> functions;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_MATHCALLS_H
