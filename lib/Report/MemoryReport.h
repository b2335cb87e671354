//===- MemoryReport.h - The memory of an entry ------------------*- C++ -*-===//
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

/// Of all slots.
inline uint64_t bytesOfSlots(const plan::State &state) {
  return state.slots() == 1 ? state.bytes()
                            : state.slots() * state.slot_bytes();
}

/// Fills in the purposes and the peak.
void reportMemory(const plan::Plan &plan, const plan::Entry &entry,
                  EntryReport &report);

/// The table of an entry, and the arena of the plan.
std::string printMemory(const EntryReport &entry, uint64_t arenaBytes);

} // namespace weft

#endif // WEFT_LIB_REPORT_MEMORYREPORT_H
