//===- PlanWriter.h - From schedule to plan ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last phase: a schedule with planned memory (form 4) becomes a plan (form
// 5), the bytes of a `.plan` file. Compiles the kernels on the way. Equal
// modules give equal bytes.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_PLAN_PLANWRITER_H
#define WEFT_PLAN_PLANWRITER_H

#include "weft/Codegen/Target.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace weft {

/// What a caller stores with a plan, by key. The compiler and the runtime pass
/// it on unread, except for `weft.choices`, which it writes and PlanReport
/// reads; keys are `<who>.<what>`, as in "python.signature".
using PlanMetadata = std::map<std::string, std::string>;

/// `0.1.0`
llvm::StringRef compilerVersion();
/// `Weft 0.1.0, plan format 7`: what tools print for --version.
std::string versionText();

/// Fails, with diagnostics, if a kernel cannot be compiled or the module is no
/// schedule with planned memory.
mlir::FailureOr<std::string> writePlan(mlir::ModuleOp module,
                                       const TargetOptions &target,
                                       const PlanMetadata &metadata = {});

} // namespace weft

#endif // WEFT_PLAN_PLANWRITER_H
