//===- TranslatePtx.cpp - Emitted modules to PTX --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TranslatePtx.h"

#include "../LowerToLlvm.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(llvm::StringRef processor) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return llvm::createStringError(error);
  llvm::TargetOptions options;
  // a * b + c stays two roundings: the numbers are those of a CPU.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // The oldest version of PTX that has the processor, and room for the
  // parameters of a kernel with more than 544 buffers.
  StringRef version = processor == "sm_100" ? "+ptx86" : "+ptx81";
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, processor, version, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

llvm::Expected<std::string> weft::translatePtx(ModuleOp module,
                                               StringRef processor) {
  llvm::LLVMContext context;
  if (llvm::Error error = lowerToLlvmDialect(module))
    return error;
  auto translated = translateToLlvm(module, context);
  if (!translated)
    return translated.takeError();
  auto machine = createMachine(processor);
  if (!machine)
    return machine.takeError();
  setMachine(**translated, **machine);
  optimise(**translated, **machine);
  return emitCode(**translated, **machine, llvm::CodeGenFileType::AssemblyFile);
}
