//===- Reasons.h - Why the collectives of a plan are there ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_REPORT_REASONS_H
#define WEFT_LIB_REPORT_REASONS_H

#include "weft/Report/PlanReport.h"

namespace weft {

/// Those that the plan has.
std::vector<ReasonRecord> readReasons(const plan::Plan &plan);

} // namespace weft

#endif // WEFT_LIB_REPORT_REASONS_H
