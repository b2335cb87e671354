//===- TimelineSteps.h - What a rank does in a timeline ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of a timeline says when sends and receives start, and segments that go
// on beside others (Entry.deferred_from). This adds where each is waited for:
// as late as the slots that it reads and writes allow, and at the end of the
// row. The verifier and all executors walk the same steps.
//
//   actions                  steps
//   0 receive "h" of 0       start 0
//   1 run backward of 3      run 1
//   2 run forward of 0       wait 0, run 2        (it reads "h")
//   3 send "y" of 0          start 3
//   4 run forward of 1       wait 3, run 4        (it writes "y", one slot)
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TIMELINESTEPS_H
#define WEFT_RUNTIME_TIMELINESTEPS_H

#include "weft/runtime/plan_generated.h"

#include <cstdint>
#include <vector>

namespace weft::runtime {

struct TimelineStep {
  enum class Kind : uint8_t { Run, Start, Wait };
  Kind kind;
  /// The action that is run or started, or that is waited for: a send or
  /// receive, or a run whose deferred instructions are executed now.
  uint32_t action;
  /// The action that the step is done for; the number of actions for the waits
  /// at the end.
  uint32_t during;
};

/// What the ranks of a role do in a call of an entry with a timeline.
std::vector<TimelineStep> timelineSteps(const plan::Plan &plan,
                                        const plan::Timeline &timeline,
                                        uint32_t role);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TIMELINESTEPS_H
