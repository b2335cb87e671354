//===- TranslateModule.h - Emitted modules to objects -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lowered module to a relocatable object.

#ifndef WEFT_LIB_CODEGEN_TRANSLATEMODULE_H
#define WEFT_LIB_CODEGEN_TRANSLATEMODULE_H

#include "weft/Codegen/CpuTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace weft {

class ModuleTranslator {
public:
  static llvm::Expected<ModuleTranslator> create(CpuTarget target);
  ~ModuleTranslator();
  ModuleTranslator(ModuleTranslator &&);

  /// Optimises a module of the LLVM dialect and emits an ELF object.
  llvm::Expected<std::string> translate(mlir::ModuleOp module);

private:
  ModuleTranslator(CpuTarget target,
                   std::unique_ptr<llvm::TargetMachine> machine);

  CpuTarget target;
  std::unique_ptr<llvm::TargetMachine> machine;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_TRANSLATEMODULE_H
