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
using namespace weft;
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

ModuleTranslator::ModuleTranslator(CpuTarget target,
                                   std::unique_ptr<llvm::TargetMachine> machine)
    : target(std::move(target)), machine(std::move(machine)) {}

ModuleTranslator::~ModuleTranslator() = default;
ModuleTranslator::ModuleTranslator(ModuleTranslator &&) = default;

llvm::Expected<ModuleTranslator> ModuleTranslator::create(CpuTarget target) {
  auto machine = createMachine(target);
  if (!machine)
    return machine.takeError();
  return ModuleTranslator(std::move(target), std::move(*machine));
}

llvm::Expected<std::string> ModuleTranslator::translate(ModuleOp module) {
  llvm::LLVMContext context;
  auto translated = translateToLlvm(module, context);
  if (!translated)
    return translated.takeError();
  setMachine(**translated, *machine);
  for (llvm::Function &function : **translated) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("tune-cpu", target.cpu);
    if (target.has("avx512f"))
      function.addFnAttr("prefer-vector-width", "512");
  }
  optimise(**translated, *machine);
  return emitCode(**translated, *machine, llvm::CodeGenFileType::ObjectFile);
}
