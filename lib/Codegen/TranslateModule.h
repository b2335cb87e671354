//===- TranslateModule.h - Emitted modules to objects -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An emitted module to a relocatable object.

#ifndef WEFT_LIB_CODEGEN_TRANSLATEMODULE_H
#define WEFT_LIB_CODEGEN_TRANSLATEMODULE_H

#include "weft/Codegen/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// Lowers `module` (scf, vector, arith, math, llvm) to LLVM IR, optimises it
/// and emits an ELF object for `target`. The module is consumed.
llvm::Expected<std::string> translateModule(mlir::ModuleOp module,
                                            const CpuTarget &target);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_TRANSLATEMODULE_H
