//===- Generators.h - The functions behind the schedules --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function a published schedule, each for a size that it admits.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_TIMELINE_GENERATORS_H
#define WEFT_LIB_TIMELINE_GENERATORS_H

#include "weft/Timeline/Schedules.h"

namespace weft::timeline {

Table gpipe(ScheduleSize size);
Table loopedBreadthFirst(ScheduleSize size);
Table oneForwardOneBackward(ScheduleSize size);
Table eagerOneForwardOneBackward(ScheduleSize size);
Table interleaved(ScheduleSize size);
Table zeroBubbleH1(ScheduleSize size);
Table zeroBubbleH2(ScheduleSize size);
Table interleavedZeroBubble(ScheduleSize size);
Table zeroBubbleV(ScheduleSize size);
Table vHalf(ScheduleSize size);
Table vMin(ScheduleSize size);
Table dualPipeV(ScheduleSize size);

/// Interleaved schedules go through the micro-batches in groups of equal size,
/// at least as large as the number of ranks where there are so many.
int32_t groupSize(ScheduleSize size);

} // namespace weft::timeline

#endif // WEFT_LIB_TIMELINE_GENERATORS_H
