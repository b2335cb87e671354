//===- MemoryReport.h - The memory of a rank --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of a plan's report that speaks of memory: what is alive when, by
// purpose, and what at the peak.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_REPORT_MEMORYREPORT_H
#define WEFT_LIB_REPORT_MEMORYREPORT_H

#include "weft/Report/PlanReport.h"
#include "weft/runtime/plan_generated.h"

namespace weft {

/// What a rank executes in a call of an entry.
struct RankPrograms {
  /// The entry; with a pipeline the segments of the role.
  std::vector<const plan::Entry *> programs;
  std::optional<uint32_t> role;
  uint64_t arenaBytes = 0;
};

MemoryReport makeMemoryReport(const plan::Plan &plan, const RankPrograms &rank);

/// The table of an entry, with a pipeline a row for each role.
std::string printMemory(const EntryReport &entry);

} // namespace weft

#endif // WEFT_LIB_REPORT_MEMORYREPORT_H
