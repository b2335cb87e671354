//===- PlanJob.h - What the ranks of a plan do, for the checker -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The timeline of a plan as the job that weft/Timeline judges: its rows, its
// messages with their bytes and queues, and which micro-batches use which slot
// of a state. Made of the plan alone, whoever wrote it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_REPORT_PLANJOB_H
#define WEFT_REPORT_PLANJOB_H

#include "weft/Timeline/Check.h"
#include "weft/runtime/plan_generated.h"

#include <string>
#include <vector>

namespace weft {

/// Why there is no job of an entry with a timeline: a segment is not named as
/// the compiler names them, so that its stage is not known. Empty if all are.
std::string findUnknownStage(const plan::Plan &plan, const plan::Entry &entry);

/// Of an entry with a timeline and such names, of a verified plan. What goes on
/// beside other segments ends where the runtime awaits it: `deferredWaits` by
/// role and column, and at the end of the row.
timeline::Job jobOf(const plan::Plan &plan, const plan::Entry &entry,
                    const std::vector<timeline::Wait> &deferredWaits);

} // namespace weft

#endif // WEFT_REPORT_PLANJOB_H
