//===- TranslateModule.cpp - Emitted modules to objects -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TranslateModule.h"

#include "LowerToLlvm.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using llvm::createStringError;

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(const weft::CpuTarget &target) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return createStringError(error);
  llvm::TargetOptions options;
  // a * b + c stays two roundings: the same numbers on every processor.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, weft::CpuTarget::kBaseline, target.featureString(), options,
      llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

llvm::Expected<std::string> weft::translateModule(ModuleOp module,
                                                  const CpuTarget &target) {
  llvm::LLVMContext context;
  auto translated = lowerToLlvm(module, context);
  if (!translated)
    return translated.takeError();
  auto machine = createMachine(target);
  if (!machine)
    return machine.takeError();
  setMachine(**translated, **machine);
  for (llvm::Function &function : **translated) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("tune-cpu", target.cpu);
    if (target.has("avx512f"))
      function.addFnAttr("prefer-vector-width", "512");
  }
  optimise(**translated, **machine);
  return emitCode(**translated, **machine, llvm::CodeGenFileType::ObjectFile);
}
