//===- PlanPrecision.h - Number formats of instructions ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_REPORT_PLANPRECISION_H
#define WEFT_REPORT_PLANPRECISION_H

#include "weft/Cost/Cluster.h"
#include "weft/runtime/plan_generated.h"

namespace weft {

/// The format at whose rate a buffer's elements are computed with.
cost::Precision precisionOf(const plan::Entry &entry, uint32_t buffer);

/// TF32 where the GEMM rounds its operands.
cost::Precision precisionOf(const plan::Entry &entry, const plan::Gemm &gemm);

} // namespace weft

#endif // WEFT_REPORT_PLANPRECISION_H
