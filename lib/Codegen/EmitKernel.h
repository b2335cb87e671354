//===- EmitKernel.h - Kernels as loops over pointers ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel as a function over pointers: loops of the scf dialect, vectors, and
// loads and stores of the llvm dialect.

#ifndef WEFT_LIB_CODEGEN_EMITKERNEL_H
#define WEFT_LIB_CODEGEN_EMITKERNEL_H

#include "ElementEmitter.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// Adds to `module` the function `void symbol(void *const *buffers,
/// const int64_t *positions, int64_t part, int64_t parts)`: the operands'
/// buffers, then those of the results that are not in place. Returns in how
/// many parts it may be computed at once.
mlir::FailureOr<int64_t> emitKernel(mlir::ModuleOp module,
                                    mlir::func::FuncOp kernel,
                                    llvm::ArrayRef<int64_t> inPlace,
                                    llvm::StringRef symbol);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_EMITKERNEL_H
