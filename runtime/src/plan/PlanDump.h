//===- PlanDump.h - A plan as text ------------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of `shard-run --dump`: stable, one fact a line, made for readers and
// for FileCheck. Documented in docs/Plan.md.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_PLAN_PLANDUMP_H
#define WEFT_RUNTIME_SRC_PLAN_PLANDUMP_H

#include "weft/runtime/Status.h"
#include "weft/runtime/plan_generated.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::runtime {

/// All sections of a verified plan.
std::string dumpPlan(const plan::Plan &plan, uint64_t hash);

/// "header", "groups", "states", "kernels" or the name of an entry.
Result<std::string> dumpSection(const plan::Plan &plan, uint64_t hash,
                                std::string_view section);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_PLAN_PLANDUMP_H
