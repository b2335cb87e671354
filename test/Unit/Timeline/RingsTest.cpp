//===- RingsTest.cpp - Memory of one value of many micro-batches ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepShapes.h"
#include "Tables.h"

#include "weft/Timeline/Rings.h"
#include "weft/Timeline/SlotUses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft::timeline;
using testing::ElementsAre;

namespace {

/// The depth for what is in memory from one kind of action to another.
int32_t depthOf(std::string_view csv, ActionKind first, ActionKind last) {
  const Table table = tableOf(csv);
  const Row &row = table.rows.front();
  return ringDepth(row, touchesOf(row, extentOf(table).microbatches,
                                  [&](const Action &action) {
                                    return action.kind == first ||
                                           action.kind == last;
                                  }));
}

} // namespace

TEST(RingsTest, DepthIsThatOfTheRow) {
  const char *row = "0F0,0F1,0I0,0F2,0W0,0F3,0I1,0W1,0I2,0W2,0I3,0W3\n";
  EXPECT_EQ(depthOf(row, ActionKind::Forward, ActionKind::WeightGradient), 3);
  EXPECT_EQ(depthOf(row, ActionKind::InputGradient, ActionKind::WeightGradient),
            1);
  EXPECT_EQ(depthOf(row, ActionKind::Update, ActionKind::Update), 0);
}

// Two at a time are not enough for a ring of two.
TEST(RingsTest, MicrobatchesMayLeaveInAnotherOrder) {
  EXPECT_EQ(depthOf("0F0,0F1,0B1,0F2,0B2,0B0\n", ActionKind::Forward,
                    ActionKind::Backward),
            3);
  EXPECT_EQ(depthOf("0F0,0F1,0F2,0B2,0B1,0B0\n", ActionKind::Forward,
                    ActionKind::Backward),
            3);
  EXPECT_EQ(depthOf("0F2,0B2,0F1,0B1,0F0,0B0\n", ActionKind::Forward,
                    ActionKind::Backward),
            1);
}

TEST(RingsTest, PairsHaveBothValues) {
  EXPECT_EQ(depthOf("0F0,(0F1;0B0)OVERLAP_F_B,0F2,0B1,0B2\n",
                    ActionKind::Forward, ActionKind::Backward),
            2);
}

TEST(RingsTest, OnceAStepTouchesAllMicrobatches) {
  const Table table = tableOf("0P0,0F0,0F1,0F2,0U0\n");
  const Row &row = table.rows.front();
  const Touches touches = touchesOf(row, 3, [](const Action &action) {
    return action.kind == ActionKind::Forward ||
           action.kind == ActionKind::Update;
  });
  EXPECT_THAT(touches, ElementsAre(ElementsAre(1, 4), ElementsAre(2, 4),
                                   ElementsAre(3, 4)));
  EXPECT_EQ(ringDepth(row, touches), 3);
}

namespace {

/// What a stage keeps of each micro-batch: its input from the receive or the
/// forward to the weight gradient, its output until it is sent, the gradient of
/// its output from the receive to the weight gradient, that of its input until
/// it is sent.
std::vector<RingValue> valuesOf(const Table &table, const StepShape &shape) {
  using enum ActionKind;
  const std::vector<ActionKind> kindsOfValues[] = {
      {ReceiveForward, Forward, Backward, InputGradient, WeightGradient},
      {Forward, SendForward},
      {ReceiveBackward, Backward, InputGradient, WeightGradient},
      {Backward, InputGradient, SendBackward}};
  std::vector<RingValue> values;
  for (int32_t stage = 0; stage < int32_t(shape.placement.size()); ++stage)
    for (const std::vector<ActionKind> &kinds : kindsOfValues) {
      const int32_t rank = shape.placement[stage];
      values.push_back({rank, touchesOf(table.rows[rank], shape.microbatches,
                                        [&](const Action &action) {
                                          return action.stage == stage &&
                                                 std::ranges::find(
                                                     kinds, action.kind) !=
                                                     kinds.end();
                                        })});
    }
  return values;
}

Job jobWithRings(const Table &table, const StepShape &shape,
                 const RingPlan &plan) {
  Job job = makeJob(table, shape);
  job.slotUses = plan.uses;
  job.waits = plan.waits;
  return job;
}

void forEachStep(auto visit) {
  for (const NamedSchedule &schedule : namedSchedules())
    for (const ScheduleSize size : {ScheduleSize{1, 4},
                                    {2, 4},
                                    {2, 8},
                                    {3, 9},
                                    {4, 8},
                                    {4, 16},
                                    {2, 8, 3},
                                    {4, 8, 2}})
      for (Receives receives : {Receives::BeforeUse, Receives::WithSend}) {
        const GeneratedTable generated = generate(schedule.name, size);
        if (!generated.error.empty())
          continue;
        const StepShape shape =
            shapeOf(placementOf(schedule, size), size.microbatches, Once::All);
        visit(schedule.name,
              makeStepRows(generated.table, shape, receives).table, shape,
              receives);
      }
}

} // namespace

TEST(RingsTest, RingsOfSchedulesAreProved) {
  int proved = 0, deadlocks = 0;
  forEachStep([&](std::string_view name, const Table &table,
                  const StepShape &shape, Receives receives) {
    Job job =
        jobWithRings(table, shape, planRings(table, valuesOf(table, shape)));
    job.gradientOrder = gradientOrderOf(name, shape.microbatches);
    const Verdict verdict = check(job);
    const bool isProved = verdict.isSafe() && verdict.has(Condition::C8);
    // Gradients that the next rank receives much later fill the rings of those
    // who send them.
    EXPECT_TRUE(isProved || (name == "looped-bfs" && !verdict.cycle.empty() &&
                             receives == Receives::BeforeUse))
        << name << " on " << table.ranks() << " ranks\n"
        << print(verdict, name);
    ++(isProved ? proved : deadlocks);
    // Nothing else keeps a receive from writing too early.
    if (isProved && !job.waits.empty()) {
      job.waits.clear();
      EXPECT_FALSE(check(job).has(Condition::C8)) << name;
    }
  });
  EXPECT_GT(proved, 100);
  EXPECT_GT(deadlocks, 0);
}

// A ring with a slot too few is not safe, whatever waits for whom.
TEST(RingsTest, DepthIsTheLeast) {
  int smaller = 0;
  forEachStep([&](std::string_view name, const Table &table,
                  const StepShape &shape, Receives receives) {
    if (receives == Receives::BeforeUse || smaller > 400)
      return;
    const std::vector<RingValue> values = valuesOf(table, shape);
    const RingPlan plan = planRings(table, values);
    for (size_t i = 0; i < values.size(); ++i) {
      const int32_t depth = plan.depths[i] - 1;
      if (depth < 1)
        continue;
      ++smaller;
      RingPlan damaged;
      for (size_t j = 0; j < values[i].touches.size(); ++j)
        damaged.uses.push_back(
            {values[i].rank, int32_t(j) % depth, values[i].touches[j]});
      std::ranges::sort(damaged.uses, {}, &SlotUse::columns);
      for (const Wait &wait : waitsForSlots(table, damaged.uses))
        if (wait.awaited < wait.waiting)
          damaged.waits.push_back(wait);
      Job job = jobWithRings(table, shape, damaged);
      job.gradientOrder = gradientOrderOf(name, shape.microbatches);
      EXPECT_FALSE(check(job).isSafe())
          << name << ", value " << i << ", depth " << depth;
    }
  });
  EXPECT_GT(smaller, 400);
}
