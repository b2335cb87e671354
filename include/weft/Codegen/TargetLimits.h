//===- TargetLimits.h - What a target cannot do -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What of a program a target has no code for, found before anything is
// compiled.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_CODEGEN_TARGETLIMITS_H
#define WEFT_CODEGEN_TARGETLIMITS_H

#include "weft/Codegen/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// What is done with the program that is checked.
struct TargetUse {
  /// Attention that the target has no kernels for becomes other ops
  /// (--weft-expand-attention); a remark says so. Else it is an error.
  bool expandsAttention = false;
  /// Kernels become machine code, by the tools that this takes.
  bool compilesKernels = false;
};

/// Reports all that `target` cannot do of a program in any form, and what is
/// wrong with the target itself.
mlir::LogicalResult checkTargetLimits(mlir::ModuleOp module,
                                      const TargetOptions &target,
                                      const TargetUse &use);

} // namespace weft

#endif // WEFT_CODEGEN_TARGETLIMITS_H
