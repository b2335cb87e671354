//===- TranslatePtx.h - Emitted modules to PTX ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_CODEGEN_CUDA_TRANSLATEPTX_H
#define WEFT_LIB_CODEGEN_CUDA_TRANSLATEPTX_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>

namespace weft {

/// The text of PTX for a processor that parseTarget knows.
llvm::Expected<std::string> translatePtx(mlir::ModuleOp module,
                                         llvm::StringRef processor);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_CUDA_TRANSLATEPTX_H
