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

namespace weft {

/// Of an entry with a timeline, of a verified plan whose segments are named as
/// the compiler names them.
timeline::Job jobOf(const plan::Plan &plan, const plan::Entry &entry);

} // namespace weft

#endif // WEFT_REPORT_PLANJOB_H
