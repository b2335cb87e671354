//===- TimelineParts.h - A timeline bound to the memory of a rank -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How programs of timelines are put together, for every kind of memory: a
// segment is bound once for each combination of slots that it works in, and its
// steps are walked once for each micro-batch. Those of deferred instructions
// are walked where the segment is waited for.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_EXECUTOR_TIMELINEPARTS_H
#define WEFT_RUNTIME_SRC_EXECUTOR_TIMELINEPARTS_H

#include "plan/Roles.h"
#include "plan/Text.h"
#include "plan/TimelineOrder.h"
#include "weft/runtime/Communicator.h"
#include "weft/runtime/plan_generated.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace weft::runtime {

/// What the program of a timeline has beside its steps; of other entries
/// nothing.
struct TimelineParts {
  /// Where in the order of the steps an action begins.
  struct ActionBegin {
    uint32_t position;
    uint32_t action;
  };
  /// What the rank's role does.
  const plan::TimelineRow *row = nullptr;
  std::vector<ActionBegin> actions;

  /// The action that a position of the order belongs to; the number of actions
  /// for the waits at the end.
  uint32_t actionAt(uint32_t position) const;
};

/// What a world makes the channels of queues from.
std::vector<QueueRanks> queueRanks(const PipelineQueues &queues,
                                   const Roles &roles, int64_t ranks);

/// For an action of a row that sends or receives, in the memory of a rank.
Transfer transferOf(const plan::Plan &plan, const plan::Timeline &timeline,
                    uint32_t role, uint32_t action, std::byte *arena,
                    std::chrono::nanoseconds timeout);

/// The slots that the segment of a Run works in: micro-batches for which these
/// are alike have the same memory.
std::vector<uint32_t> slotsOf(const plan::Plan &plan, const plan::Action &run);

/// Fills `program` with the steps of a role. `bindSegment(entry, microbatch)`
/// gives the program of a segment, and `addTransfer(step, action)` adds a step
/// for a start or a wait.
template <typename Program, typename BindSegment, typename AddTransfer>
Status bindSteps(Program &program, const plan::Plan &plan,
                 const plan::Timeline &timeline, uint32_t role,
                 const BindSegment &bindSegment,
                 const AddTransfer &addTransfer) {
  // In their order, of all steps.
  struct Segment {
    std::vector<uint32_t> steps, deferred;
  };
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, Segment> bound;
  program.row = timeline.rows()->Get(role);
  for (const TimelineStep &step : timelineSteps(plan, timeline, role)) {
    const plan::Action &action = *program.row->actions()->Get(step.action);
    const auto position = static_cast<uint32_t>(program.order.steps().size());
    if (program.actions.empty() || program.actions.back().action != step.during)
      program.actions.push_back({position, step.during});
    if (action.kind() != plan::ActionKind::Run) {
      WEFT_RETURN_IF_ERROR(addTransfer(step, action));
      continue;
    }
    const auto [it, isNew] =
        bound.try_emplace({action.index(), slotsOf(plan, action)});
    if (isNew) {
      Result<Program> segment =
          bindSegment(action.index(), action.microbatch());
      if (!segment.ok())
        return segment.status().withContext(fmt::format(
            "segment \"{}\"",
            escaped(view(plan.entries()->Get(action.index())->name()))));
      const uint32_t end = plan.entries()
                               ->Get(action.index())
                               ->deferred_from()
                               .value_or(UINT32_MAX);
      for (uint32_t at : segment->order.steps())
        (segment->steps[at].instruction < end ? it->second.steps
                                              : it->second.deferred)
            .push_back(static_cast<uint32_t>(program.steps.size()) + at);
      for (auto &each : segment->steps)
        program.steps.push_back(std::move(each));
      segment->steps.clear();
      program.segments.push_back(*std::move(segment));
    }
    for (uint32_t at : step.kind == TimelineStep::Kind::Run
                           ? it->second.steps
                           : it->second.deferred)
      program.order.add(at);
  }
  return {};
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_EXECUTOR_TIMELINEPARTS_H
