//===- LowerBound.h - What no table is faster than --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What no table is faster than.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_LOWERBOUND_H
#define WEFT_TIMELINE_LOWERBOUND_H

#include "weft/Timeline/Timing.h"

namespace weft::timeline {

/// Of tables that have these stages on these ranks: for each rank the least
/// time before its first action, all of its actions, and the least time after
/// its last, which is none where weight gradients are actions of their own.
double lowerBound(const Placement &placement, int32_t microbatches,
                  const Costs &costs, bool splitsBackward);

/// The same of tables with weight gradients of their own in which no rank keeps
/// more activations than the limit. A rank then waits as well
///   - for its first input gradient, once its memory is full of forwards;
///   - for the end of the step after its last input gradient, if what other
///     ranks do then takes longer than all weight gradients that fit its
///     memory.
double lowerBoundWithin(double limit, const Placement &placement,
                        int32_t microbatches, const Costs &costs);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_LOWERBOUND_H
