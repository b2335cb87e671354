//===- OutlineKernel.h - A group of ops as a function -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_OUTLINEKERNEL_H
#define WEFT_LIB_SCHEDULE_OUTLINEKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace weft {

/// The kernels of a module: equal functions are kept once. Names are kernel_0,
/// kernel_1, ... in the order of first use.
class KernelLibrary {
public:
  explicit KernelLibrary(mlir::ModuleOp module) : module(module) {}

  /// Takes over `kernel`, which is in no module, and returns the function to
  /// call: it or an equal one.
  mlir::func::FuncOp insert(mlir::func::FuncOp kernel);

  size_t size() const { return count; }

private:
  mlir::ModuleOp module;
  /// Looked up only.
  llvm::DenseMap<size_t, llvm::SmallVector<mlir::func::FuncOp>> byHash;
  size_t count = 0;
  unsigned next = 0;
};

/// Moves `ops`, which are in program order, into a kernel and puts a launch in
/// the position of the last one.
void outlineKernel(llvm::ArrayRef<mlir::Operation *> ops,
                   KernelLibrary &library);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_OUTLINEKERNEL_H
