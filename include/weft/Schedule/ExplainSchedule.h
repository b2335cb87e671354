//===- ExplainSchedule.h - When collectives run -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An ordered program on a cluster, in estimated time: a rank computes, and its
// collectives run beside that, one after another on each level of links. What a
// collective takes while the rank waits for it is exposed.
//
//   step: 1.20 ms (in any order at least 1.15 ms), computing 1.10 ms; 1
//   collective, 250 us, exposed 100 us
//     all_reduce of 4.00 MiB from 1.00 ms to 1.20 ms: gradient of w1 (mlp.py:7)
//       hidden: 100 us behind 3 instructions, the longest gemm (mlp.py:9)
//       exposed: 100 us, launch @update needs it, and there is no more to
//       compute before
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SCHEDULE_EXPLAINSCHEDULE_H
#define WEFT_SCHEDULE_EXPLAINSCHEDULE_H

#include "weft/Cost/CostModel.h"
#include "weft/IR/WeftOps.h"

#include <vector>

namespace weft {

/// Seconds since the block began.
struct CollectiveTimes {
  StartOp start;
  /// When it can begin, begins and ends.
  double issued = 0, begin = 0, end = 0;
  /// When the rank has computed all that is before the wait.
  double reached = 0;
  /// What is computed while it runs, in order.
  std::vector<mlir::Operation *> beside;
  /// How long the rank waits for others meanwhile.
  double besideWaits = 0;
  /// What the rank waits with; null at the end of the block.
  mlir::Operation *user = nullptr;

  double exposed() const { return std::max(0.0, end - reached); }
};

/// A block of an entry, or of a loop, in the order of its waits.
struct ScheduleTimes {
  std::vector<CollectiveTimes> collectives;
  /// Loops have their collectives each on their own.
  double whole = 0, computing = 0;
};

/// With `only` as if collectives over other axes took no time, but those in
/// loops, which count as computing.
ScheduleTimes predictTimes(mlir::Block &block, const cost::CostModel &model,
                           AxesAttr only = {});

/// Seconds that the instructions and collectives of a block take in any order
/// (OrderBound.h): no more than predictTimes says, for the same `only`.
double leastSeconds(mlir::Block &block, const cost::CostModel &model,
                    AxesAttr only = {});

/// For each collective of the entries: from when to when it runs, what hides
/// it, and why nothing hides the rest.
std::string explainSchedule(mlir::ModuleOp schedule,
                            const cost::CostModel &model);

} // namespace weft

#endif // WEFT_SCHEDULE_EXPLAINSCHEDULE_H
