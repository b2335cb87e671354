//===- TimelineOrderTest.cpp - Where a rank waits in a timeline -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/TimelineOrder.h"
#include "PipelinePlan.h"

#include <gmock/gmock.h>

namespace weft::runtime {
namespace {

using testing::ElementsAre;

/// "run 2", "start 3", "wait 3 for 4": the last before what action 4 does.
std::vector<std::string> stepsOf(const Plan &plan, uint32_t role) {
  std::vector<std::string> steps;
  const auto &entries = *plan.contents().entries();
  for (const TimelineStep &step : timelineSteps(
           plan.contents(), *entries.Get(entries.size() - 1)->timeline(), role))
    switch (step.kind) {
    case TimelineStep::Kind::Run:
      steps.push_back(fmt::format("run {}", step.action));
      break;
    case TimelineStep::Kind::Start:
      steps.push_back(fmt::format("start {}", step.action));
      break;
    case TimelineStep::Kind::Wait:
      steps.push_back(fmt::format("wait {} for {}", step.action, step.during));
      break;
    }
  return steps;
}

TEST(TimelineOrder, WaitsForWhatIsReadAndBeforeWhatIsWritten) {
  const Plan plan = PipelinePlan(2, 3).build();
  // begin0, forward0 0, send 0 0, forward0 1 and send, receive and backward 0,
  // forward0 2, whose y is in the slot of the first, ...
  EXPECT_THAT(stepsOf(plan, 1),
              ElementsAre("run 0", "start 1", "wait 1 for 2", "run 2", "run 3",
                          "start 4", "start 5", "wait 5 for 6", "run 6",
                          "run 7", "start 8", "start 9", "wait 9 for 10",
                          "run 10", "wait 4 for 11", "run 11", "start 12",
                          "run 13", "start 14", "wait 14 for 15", "run 15",
                          "wait 8 for 16", "wait 12 for 16"));
}

TEST(TimelineOrder, DeferredRunsAreAwaitedByWhoUsesTheirStates) {
  const Plan plan =
      PipelinePlan(2, 1, 1, Receives::BeforeUse, Reductions::Early).build();
  // begin1, receive, forward1, backward1, send, reduce1, beside1, update1,
  // receive, finish
  EXPECT_THAT(stepsOf(plan, 1),
              ElementsAre("run 0", "start 1", "wait 1 for 2", "run 2", "run 3",
                          "start 4", "run 5", "run 6", "wait 5 for 7", "run 7",
                          "start 8", "wait 8 for 9", "run 9", "wait 4 for 10"));
}

TEST(TimelineOrder, TimelinesShareQueues) {
  PipelinePlan builder(3, 2);
  TimelineBuilder eval = builder.timeline("eval", 1);
  const uint32_t message = eval.message("again", 0, 1, 2, "seed");
  eval.send(1, message);
  eval.receive(2, message);
  const Plan plan = builder.build();
  const PipelineQueues queues(plan.contents());
  const size_t step = builder.table.entries.size() - 2;
  EXPECT_EQ(queues.all().size(), 5u);
  for (uint32_t queue = 0; queue < 5; ++queue)
    EXPECT_EQ(queues.of(step, queue), queue);
  EXPECT_EQ(queues.of(step + 1, 0), 2u);
  EXPECT_EQ(queues.all()[2].source, 1u);
  EXPECT_EQ(queues.all()[2].destination, 2u);
  EXPECT_EQ(queues.all()[2].capacity, 2u);
}

} // namespace
} // namespace weft::runtime
