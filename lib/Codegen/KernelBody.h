//===- KernelBody.h - What a kernel may contain -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which functions are kernels, and what their arguments are for.

#ifndef WEFT_LIB_CODEGEN_KERNELBODY_H
#define WEFT_LIB_CODEGEN_KERNELBODY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft {

/// Checks that `kernel` is one block over static tensors, of operations that
/// kernels can contain. Reports every operation that is not.
mlir::LogicalResult checkKernelBody(mlir::func::FuncOp kernel);

/// The number of arguments that are buffers; positions follow them, marked
/// `weft.position`.
unsigned countBufferArguments(mlir::func::FuncOp kernel);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_KERNELBODY_H
