//===- DeferredWaits.cpp - When ranks await what goes on beside others ----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Simulate/DeferredWaits.h"

#include "weft/runtime/TimelineSteps.h"

namespace weft::simulate {

using runtime::TimelineStep;

std::vector<timeline::Wait> waitsForDeferred(const plan::Plan &plan,
                                             const plan::Entry &entry) {
  const plan::Timeline &timeline = *entry.timeline();
  std::vector<timeline::Wait> waits;
  for (uint32_t role = 0; role < timeline.rows()->size(); ++role)
    for (const TimelineStep &step :
         runtime::timelineSteps(plan, timeline, role)) {
      const plan::Action &action =
          *timeline.rows()->Get(role)->actions()->Get(step.action);
      if (step.kind == TimelineStep::Kind::Wait &&
          action.kind() == plan::ActionKind::Run)
        waits.push_back(
            {int32_t(role), int32_t(step.during), int32_t(step.action)});
    }
  return waits;
}

} // namespace weft::simulate
