//===- LowerToLlvm.h - Emitted modules to LLVM IR and files -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the translations for all targets have in common.

#ifndef WEFT_LIB_CODEGEN_LOWERTOLLVM_H
#define WEFT_LIB_CODEGEN_LOWERTOLLVM_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace weft {

/// Lowers a module of scf, vector, arith, math, llvm and nvvm, and those in it,
/// to the LLVM dialect.
llvm::Error lowerToLlvmDialect(mlir::ModuleOp module);

/// What was lowered, without modules in it, as LLVM IR.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateToLlvm(mlir::ModuleOp module, llvm::LLVMContext &context);

/// Sets what must be known before any optimisation: without it LLVM assumes a
/// machine with no vectors.
void setMachine(llvm::Module &module, llvm::TargetMachine &machine);

void optimise(llvm::Module &module, llvm::TargetMachine &machine);

/// Assembly or an object.
llvm::Expected<std::string> emitCode(llvm::Module &module,
                                     llvm::TargetMachine &machine,
                                     llvm::CodeGenFileType kind);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_LOWERTOLLVM_H
