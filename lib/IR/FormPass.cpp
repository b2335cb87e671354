//===- FormPass.cpp - What passes need of a module ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/FormPass.h"
#include "weft/IR/FormRules.h"

using namespace mlir;
using namespace weft;

// What the passes of the import cannot inline or differentiate they name
// themselves.
static const FormRule kProgramRules[] = {checkModuleOps, checkTensorTypes};
static const FormRule kGraphRules[] = {
    checkOneMesh,     checkModuleOps, checkOneBlock,    checkNoKernels,
    checkTensorTypes, checkGraphOps,  checkGlobalTypes, checkMicrobatches,
};
static const FormRule kLocalizedRules[] = {
    checkModuleOps,
    checkOneBlock,
    checkTensorTypes,
    checkMicrobatches,
};
static const FormRule kSpmdRules[] = {
    checkOneMesh,   checkModuleOps,   checkOneBlock,
    checkNoKernels, checkTensorTypes, checkLocalOps,
};
static const FormRule kProductsRules[] = {
    checkOneMesh,   checkModuleOps,   checkOneBlock,
    checkNoKernels, checkTensorTypes, checkGemmOps,
};
static const FormRule kInstructionsRules[] = {
    checkOneMesh,     checkModuleOps,   checkOneBlock,
    checkTensorTypes, checkKernelTypes, checkInstructionOps,
};
static const FormRule kKernelsRules[] = {
    checkModuleOps,
    checkOneBlock,
    checkKernelTypes,
};
static const FormRule kScheduleRules[] = {
    checkOneMesh,     checkModuleOps,   checkOneBlock, checkTensorTypes,
    checkKernelTypes, checkScheduleOps, checkWaits,
};

static ArrayRef<FormRule> rulesOf(PassInput input) {
  switch (input) {
  case PassInput::Calls:
  case PassInput::Gradients:
  case PassInput::Composites:
    return kProgramRules;
  case PassInput::Graph:
    return kGraphRules;
  case PassInput::Localized:
    return kLocalizedRules;
  case PassInput::Spmd:
    return kSpmdRules;
  case PassInput::Gemms:
    return kProductsRules;
  case PassInput::Instructions:
    return kInstructionsRules;
  case PassInput::Kernels:
    return kKernelsRules;
  case PassInput::Schedule:
    return kScheduleRules;
  }
  llvm_unreachable("all inputs are covered");
}

LogicalResult weft::verifyPassInput(ModuleOp module, PassInput input,
                                    StringRef pass) {
  FormCheck check(("before " + pass).str());
  for (FormRule rule : rulesOf(input))
    rule(module, check);
  return success(check.hasPassed());
}
