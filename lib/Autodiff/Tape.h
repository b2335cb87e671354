//===- Tape.h - A function run forward and back -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy of a function's body in another function, and what it takes to emit
// its derivative there.
//
// Example: df/dx of a function f(x) with a scalar result
//
//   Tape tape(f, {x}, builder, loc);
//   Value dx = tape.pullBack(activity, {one}, builder).front();
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_AUTODIFF_TAPE_H
#define WEFT_LIB_AUTODIFF_TAPE_H

#include "Activity.h"

#include "mlir/IR/IRMapping.h"

namespace weft {

/// What precedes the place of a forward op in that of a backward op.
inline constexpr llvm::StringLiteral kTransposeOf = "transpose of";

class Tape {
public:
  /// Copies the body to the builder's place. `call` is the location of the op
  /// that asks for it.
  Tape(mlir::func::FuncOp function, mlir::ValueRange operands,
       mlir::OpBuilder &builder, mlir::Location call);

  /// The results of the copy.
  llvm::SmallVector<mlir::Value> getResults() const;

  /// Emits the cotangents of the arguments, given those of the results. Null
  /// stands for zero in both. Every op of `activity` has a VjpOpInterface.
  llvm::SmallVector<mlir::Value>
  pullBack(const Activity &activity, llvm::ArrayRef<mlir::Value> cotangents,
           mlir::OpBuilder &builder) const;

private:
  mlir::Block &body;
  /// From the function's values and ops to those of the copy.
  mlir::IRMapping copies;
};

} // namespace weft

#endif // WEFT_LIB_AUTODIFF_TAPE_H
