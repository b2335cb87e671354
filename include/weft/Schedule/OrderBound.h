//===- OrderBound.h - What no order of a program can be below ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lower bound of the time of a program on one resource that computes and one
// for each level of links, whatever its order (OverlapOrder.h): what tells
// communication that must wait from communication that a better order would
// hide. It shares no code with the scheduler.
//
// Each step has a head, before which it cannot begin, and a tail, which cannot
// be over sooner behind it. The head is found from the steps that lead to it:
// those of each resource are put in an order in which they may be interrupted,
// from their own heads on and with the longest path from each to the step
// behind it, the one with the longest path first, which is optimal (J. R.
// Jackson, "Scheduling a Production Line to Minimize Maximum Tardiness", 1955;
// J. Carlier, "The One-Machine Sequencing Problem", 1982). So what must be
// waited for in one layer adds up with what must in the next. Tails are the
// same of the program from its end, and with both the steps of each resource
// are put in such an order once more.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SCHEDULE_ORDERBOUND_H
#define WEFT_SCHEDULE_ORDERBOUND_H

#include "weft/Schedule/OverlapOrder.h"

namespace weft {

/// Picoseconds that every order of `steps` takes. Takes time and memory in the
/// square of their number.
int64_t leastTime(llvm::ArrayRef<Step> steps);

/// The same with longest paths for heads and tails: a lower bound in next to no
/// time.
int64_t leastTimeByPaths(llvm::ArrayRef<Step> steps);

} // namespace weft

#endif // WEFT_SCHEDULE_ORDERBOUND_H
