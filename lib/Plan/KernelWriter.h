//===- KernelWriter.h - The kernels of a plan -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PLAN_KERNELWRITER_H
#define WEFT_LIB_PLAN_KERNELWRITER_H

#include "PlanTables.h"

#include "weft/Codegen/Target.h"

namespace weft {

/// Compiles the kernels that the entries launch, and says in the plan what
/// machine they are for.
mlir::LogicalResult writeKernels(plan::PlanT &plan, mlir::ModuleOp module,
                                 const PlanTables &tables,
                                 const TargetOptions &target);

} // namespace weft

#endif // WEFT_LIB_PLAN_KERNELWRITER_H
