//===- Ptxas.h - PTX to machine code ----------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The assembler of the CUDA toolkit, a program of its own. Plans are complete
// without it: a driver compiles their PTX when they are loaded.

#ifndef WEFT_LIB_CODEGEN_CUDA_PTXAS_H
#define WEFT_LIB_CODEGEN_CUDA_PTXAS_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace weft {

struct KernelUsage {
  int64_t registers = 0, spillBytes = 0;
};

struct Assembled {
  std::string cubin;
  /// By symbol.
  llvm::StringMap<KernelUsage> usage;
};

/// The program to use: `wanted`, a path, or, if it is empty, the environment's
/// WEFT_PTXAS, or what is in PATH or in the toolkit that Weft was built beside.
/// Nothing if there is none, or if "none" is wanted; an error if a path that is
/// given is no program.
llvm::Expected<std::optional<std::string>> findPtxas(llvm::StringRef wanted);

/// What the folder for compiled kernels has is not assembled again.
llvm::Expected<Assembled> runPtxas(mlir::Location location,
                                   llvm::StringRef program, llvm::StringRef ptx,
                                   llvm::StringRef processor);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_CUDA_PTXAS_H
