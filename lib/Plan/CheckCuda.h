//===- CheckCuda.h - What CUDA devices cannot do ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PLAN_CHECKCUDA_H
#define WEFT_LIB_PLAN_CHECKCUDA_H

#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// Reports the products and attentions of a schedule for which the runtime has
/// no code on a CUDA device.
mlir::LogicalResult checkForCuda(mlir::ModuleOp module);

} // namespace weft

#endif // WEFT_LIB_PLAN_CHECKCUDA_H
