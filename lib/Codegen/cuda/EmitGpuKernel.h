//===- EmitGpuKernel.h - Kernels as grids of threads ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel as a function that each thread of a grid executes: loops of the scf
// dialect, vectors, loads and stores of the llvm dialect, and what threads do
// together in the nvvm dialect.

#ifndef WEFT_LIB_CODEGEN_CUDA_EMITGPUKERNEL_H
#define WEFT_LIB_CODEGEN_CUDA_EMITGPUKERNEL_H

#include "weft/Codegen/CompileGpuKernels.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// Adds to `module` the kernel `symbol`, whose parameters are the operands'
/// buffers, those of the results that are not in place, the positions (i64
/// each), and, if it has one, its workspace. For several sets of arguments, the
/// parameters are a table of the buffers of so many, and the positions; the
/// second index of a block says which set is its own. `sharedBytes`: the shared
/// memory of a processor. Returns the grid, as far as it is known without
/// ptxas.
mlir::FailureOr<KernelGrid>
emitGpuKernel(mlir::ModuleOp module, mlir::func::FuncOp kernel,
              llvm::ArrayRef<int64_t> inPlace, llvm::StringRef symbol,
              int64_t maxBatch, int64_t sharedBytes);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_CUDA_EMITGPUKERNEL_H
