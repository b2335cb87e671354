//===- CompileGpuKernels.h - Kernels to PTX and cubins ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels to code for NVIDIA GPUs.
//
// `compileGpuKernels` turns a list of kernels (see CompileKernels.h) into one
// module of PTX, and, where `ptxas` is found, into a cubin. Neither a GPU nor a
// driver is needed. A kernel is a grid, one-dimensional, whose size is part of
// the answer. Its parameters are the addresses of the operands' buffers, those
// of the results that are not in place, the positions (i64 each), and the
// address of a workspace, if it has one. Buffers are aligned to 16 bytes.
//
// The same request gives the same numbers in every run: the order of every sum
// is fixed by the shapes, and no numbers are added by atomic operations.

#ifndef WEFT_CODEGEN_COMPILEGPUKERNELS_H
#define WEFT_CODEGEN_COMPILEGPUKERNELS_H

#include "weft/Codegen/CompileKernels.h"

namespace weft {

/// How a kernel is launched.
struct KernelGrid {
  int64_t blocks = 1, threads = 1;
  /// Of shared memory that a block has, and that its launch adds.
  int64_t sharedBytes = 0, launchSharedBytes = 0;
  /// Zero before the first launch; what must be zero is left so.
  int64_t workspaceBytes = 0;
  /// What ptxas says; 0 without it.
  int64_t registers = 0, spillBytes = 0;
  /// The sets of arguments that the parameters have room for: above 1, they are
  /// a table, and a grid has a row of blocks for each set.
  int64_t maxBatch = 1;
};

struct GpuCode {
  std::string ptx;
  /// Empty without ptxas.
  std::string cubin;
  /// One for each kernel.
  std::vector<KernelGrid> grids;
};

/// Adds the dialects of what kernels become, which a pass that compiles them
/// depends on.
void registerGpuKernelDialects(mlir::DialectRegistry &registry);

/// Compiles kernels, which must be of one context, for `options.gpu`. Problems
/// are reported at the kernels.
mlir::FailureOr<GpuCode>
compileGpuKernels(llvm::ArrayRef<KernelRequest> kernels,
                  const TargetOptions &options);

} // namespace weft

#endif // WEFT_CODEGEN_COMPILEGPUKERNELS_H
