//===- SlotUses.h - Memory of micro-batches in flight -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a micro-batch needs from its forward to its weight gradient is in a slot
// of its stage. A slot is free again when all is done, the transfers too:
//
//   F0 F1 I0 F2 W0 F3 I1 W1 I2 W2 I3 W3: micro-batches 0 to 3 in 0, 1, 2, 0
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_SLOTUSES_H
#define WEFT_TIMELINE_SLOTUSES_H

#include "weft/Timeline/Check.h"

namespace weft::timeline {

struct SlotPlan {
  /// By stage and micro-batch; numbers count per rank.
  std::vector<std::vector<int32_t>> slotOf;
  /// By rank, how many slots it has.
  std::vector<int32_t> counts;
  /// By rank, all that each micro-batch does in its slot.
  std::vector<SlotUse> uses;
};

/// Gives each micro-batch of a stage the lowest slot that is free from the
/// first to the last of its actions in the row, transfers among them. Stages
/// share the slots of their rank if `shared`, for stages of one size; else each
/// has its own. Of a table without problems.
SlotPlan planSlots(const Table &table, bool shared);

/// What a rank has to wait for so that slots are reused in the order of its
/// row: a receive for the computation that used the slot before, and whoever
/// writes for the sends from it. The uses of one slot are in that order.
std::vector<Wait> waitsForSlots(const Table &table,
                                const std::vector<SlotUse> &uses);

/// The waits of ranks that walk their rows, one call after the other: a
/// computation has ended before the next call, a transfer has only been
/// started, which it can be when the one before it in its queue has ended, and
/// what one call waits for, all behind it wait for as well. So devices do that
/// launch what their streams have in the order in which the host gave it to
/// them, or have fewer hardware queues than streams. `waits` are those of the
/// slots. A job that is safe with these is also safe where each call waits only
/// for what it needs.
std::vector<Wait> waitsOfWalk(const Job &job, const std::vector<Wait> &waits);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_SLOTUSES_H
