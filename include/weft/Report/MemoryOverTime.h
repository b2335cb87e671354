//===- MemoryOverTime.h - Memory of an entry by instruction -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What pictures of memory are drawn from. With the `fixedBytes` of the report,
// which are there at any time, it is all that a rank holds; the largest sum is
// that of the report's peak.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_REPORT_MEMORYOVERTIME_H
#define WEFT_REPORT_MEMORYOVERTIME_H

#include "weft/runtime/plan_generated.h"

#include <array>
#include <vector>

namespace weft {

/// As many as `MemoryReport::purposes` has, in its order.
inline constexpr size_t numPurposes = 10;
using PurposeBytes = std::array<uint64_t, numPurposes>;

/// What is alive at each instruction of an entry or a segment but its states
/// and constants, and behind the last one.
std::vector<PurposeBytes> memoryOverTime(const plan::Entry &entry);

/// Of an entry with a timeline: what a role keeps for a micro-batch, from the
/// first to the last of its actions that reads or writes it. Its slot is there
/// all the time.
struct SlotUse {
  const plan::State *state;
  uint32_t microbatch, first, last;
};
std::vector<SlotUse> slotUsesOf(const plan::Plan &plan,
                                const plan::Entry &entry, uint32_t role);

/// The place of a purpose in `PurposeBytes`.
size_t indexOf(plan::Purpose purpose);

} // namespace weft

#endif // WEFT_REPORT_MEMORYOVERTIME_H
