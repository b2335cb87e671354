//===- VerifyForm.cpp - Check what a form promises ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimelineRules.h"

#include "weft/Forms/Passes.h"
#include "weft/IR/FormRules.h"
#include "weft/Schedule/ScheduleRules.h"

#include "mlir/IR/Verifier.h"

namespace weft {
#define GEN_PASS_DEF_VERIFYFORM
#include "weft/Forms/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

//===----------------------------------------------------------------------===//
// The contracts
//===----------------------------------------------------------------------===//

static const FormRule kGraphRules[] = {
    checkOneMesh, checkModuleOps,   checkBodies,   checkOneBlock,
    checkNames,   checkTensorTypes, checkGraphOps, checkMicrobatches,
    checkStages,  checkGradients,
};

static const FormRule kShardedRules[] = {
    checkOneMesh,        checkModuleOps,
    checkBodies,         checkOneBlock,
    checkNames,          checkTensorTypes,
    checkGraphOps,       checkEveryValueHasSharding,
    checkStateShardings, checkUnreduced,
    checkMicrobatches,   checkStages,
    checkGradients,
};

static const FormRule kSpmdRules[] = {
    checkOneMesh,   checkModuleOps,       checkBodies,
    checkOneBlock,  checkNames,           checkTensorTypes,
    checkLocalOps,  checkLocalTypes,      checkStateShardings,
    checkTimelines, checkMicrobatchLoops, checkGradients,
};

static const FormRule kScheduleRules[] = {
    checkOneMesh, checkModuleOps,  checkBodies,          checkOneBlock,
    checkNames,   checkLocalTypes, checkScheduleOps,     checkWaits,
    checkMemory,  checkTimelines,  checkMicrobatchLoops,
};

namespace {
struct Form {
  StringRef name;
  /// The phase that ends in this form.
  StringRef phase;
  ArrayRef<FormRule> rules;
};
} // namespace

static const Form kForms[] = {
    {"graph", "import", kGraphRules},
    {"sharded", "propagate", kShardedRules},
    {"spmd", "partition", kSpmdRules},
    {"schedule", "schedule", kScheduleRules},
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct VerifyForm : weft::impl::VerifyFormBase<VerifyForm> {
  using VerifyFormBase::VerifyFormBase;

  void runOnOperation() override {
    const Form *found =
        llvm::find_if(kForms, [&](const Form &f) { return f.name == form; });
    if (found == std::end(kForms)) {
      getOperation().emitError()
          << "unknown form \"" << form
          << "\"; the forms are graph, sharded, spmd and schedule";
      return signalPassFailure();
    }
    if (failed(verify(getOperation())))
      return signalPassFailure();
    FormCheck check(("after " + found->phase).str());
    for (FormRule rule : found->rules)
      rule(getOperation(), check);
    if (!check.hasPassed())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
