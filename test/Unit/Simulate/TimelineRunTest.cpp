//===- TimelineRunTest.cpp - Tests of pipelines in virtual time -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Simulate/TimelineRun.h"

#include "PlanBuilder.h"

#include "weft/Timeline/Extent.h"
#include "weft/Timeline/Schedules.h"
#include "weft/Timeline/TableRules.h"
#include "weft/Timeline/Timing.h"
#include "weft/Timeline/Transfers.h"

#include <gmock/gmock.h>

using namespace weft;
using namespace weft::simulate;
using timeline::Receives;

namespace {

struct Case {
  std::string schedule;
  timeline::ScheduleSize size;
};
void PrintTo(const Case &each, std::ostream *out) {
  *out << each.schedule << " p=" << each.size.ranks
       << " m=" << each.size.microbatches;
}

/// Runs a published schedule here and in lib/Timeline.
class TimelineRunTest : public testing::TestWithParam<Case> {
protected:
  void runBoth(Picoseconds transfer, Receives receives) {
    const auto &[name, size] = GetParam();
    const timeline::Table table = timeline::generate(name, size).table;
    const timeline::Extent extent = timeline::extentOf(table);
    for (int32_t stage = 0; stage < extent.stages; ++stage)
      costs.stages.push_back({.forward = 100.0 + stage % 3,
                              .inputGradient = 120.0 + stage % 2,
                              .weightGradient = 90});
    costs.transfer = double(transfer);
    published = *timeline::timeTable(table, costs);
    const timeline::TransferredTable rows = timeline::addTransfers(
        timeline::computeOnly(table), extent.placement,
        timeline::neighbourEdges(extent.stages), receives);
    ASSERT_EQ(rows.error, "");
    segments = builder.pipeline(rows.table, size.microbatches, 1000);
    const plan::Plan &plan = builder.build();
    run = runTimeline(
        {plan, *plan.entries()->Get(plan.entries()->size() - 1)->timeline(),
         [&](const SegmentStep &step) { return timeOf(step.segment); },
         [&](const plan::Message &) { return transfer; }});
    ASSERT_TRUE(run);
  }
  Picoseconds timeOf(uint32_t segment) const {
    for (const auto &[key, entry] : segments)
      if (entry == builder.table.entries[segment].get()) {
        const timeline::StageCosts &cost = costs.stages[key.first];
        switch (key.second) {
        case timeline::ActionKind::Forward:
          return Picoseconds(cost.forward);
        case timeline::ActionKind::Backward:
          return Picoseconds(cost.backward());
        case timeline::ActionKind::InputGradient:
          return Picoseconds(cost.inputGradient);
        default:
          return Picoseconds(cost.weightGradient);
        }
      }
    return 0;
  }

  PlanBuilder builder{{{"pipe", GetParam().size.ranks}}};
  PlanBuilder::Segments segments;
  timeline::Costs costs;
  timeline::Timing published;
  std::optional<TimelineRun> run;
};

TEST_P(TimelineRunTest, BubblesAreThoseOfTheTimeline) {
  runBoth(0, Receives::OneAhead);
  EXPECT_EQ(run->end, Picoseconds(published.makespan));
  for (size_t role = 0; role < run->roles.size(); ++role) {
    EXPECT_EQ(run->roles[role].bubble, Picoseconds(published.bubble(role)));
    EXPECT_EQ(run->roles[role].messages.exposed, 0);
  }
}

TEST_P(TimelineRunTest, NothingIsLostAndNothingIsFasterThanTheTimeline) {
  for (Receives receives :
       {Receives::WithSend, Receives::BeforeUse, Receives::OneAhead}) {
    costs = {};
    builder = PlanBuilder({{"pipe", GetParam().size.ranks}});
    runBoth(7, receives);
    EXPECT_GE(run->end, Picoseconds(published.makespan));
    int64_t transfers = 0;
    for (const RoleRun &role : run->roles) {
      Picoseconds busy = 0;
      for (const RunTime &each : role.runs)
        busy += each.end - each.begin;
      EXPECT_EQ(busy + role.bubble + role.messages.exposed, run->end);
      Picoseconds bubble = run->end - role.end, exposed = 0;
      for (const WaitTime &wait : role.waits) {
        bubble += wait.from - wait.begin;
        exposed += wait.end - wait.from;
      }
      EXPECT_EQ(bubble, role.bubble);
      EXPECT_EQ(exposed, role.messages.exposed);
      EXPECT_GE(role.messages.hidden(), 0);
      EXPECT_GE(role.bubble, 0);
      transfers += role.messages.total;
    }
    // At both ends.
    EXPECT_EQ(transfers, 2 * 7 * int64_t(run->transfers.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, TimelineRunTest,
    testing::Values(Case{"gpipe", {4, 6}}, Case{"1f1b", {2, 1}},
                    Case{"1f1b", {4, 8}}, Case{"1f1b", {8, 32}},
                    Case{"interleaved-1f1b", {4, 8, 2}}, Case{"zb-h1", {4, 8}},
                    Case{"zb-v", {4, 8}}));

TEST(TimelineRun, ACircleIsReported) {
  // Each role wants the other's message before it sends its own.
  const timeline::ParsedTable table = timeline::parseCsv(
      "0RECV_B0,0B0,0F0,0SEND_F0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "");
  PlanBuilder builder({{"pipe", 2}});
  builder.pipeline(table.table, 1, 1000);
  const plan::Plan &plan = builder.build();
  EXPECT_FALSE(runTimeline(
      {plan, *plan.entries()->Get(plan.entries()->size() - 1)->timeline(),
       [](const SegmentStep &) { return 1; },
       [](const plan::Message &) { return 1; }}));
}

} // namespace
