//===- Slots.h - Memory of micro-batches in flight --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory that micro-batches in flight occupy.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_SLOTS_H
#define WEFT_TIMELINE_SLOTS_H

#include "weft/Timeline/Table.h"

namespace weft::timeline {

/// Which slot of its stage every compute action uses: a slot is taken at F, and
/// free again after B or W. Always the lowest that is free, which makes them as
/// few as the order allows.
struct Slots {
  /// As the row; -1 for actions that do not compute.
  std::vector<int32_t> ofAction;
  /// By stage: how many there are.
  std::vector<int32_t> counts;
};

/// Of a row of a table without problems (see findProblems) that has `stages`
/// stages in all. `F0 F1 I0 F2 W0 F3 I1 W1 I2 W2 I3 W3` of one stage takes 3
/// slots, the four micro-batches 0, 1, 2 and 0.
Slots assignSlots(const Row &row, int32_t stages);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_SLOTS_H
