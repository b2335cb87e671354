//===- PlanJobTest.cpp - A plan as a job of the checker -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Report/PlanJob.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace weft;
using testing::HasSubstr;

namespace {

/// One rank with two stages, which leave "h" and "g" for each other.
class PlanJobTest : public testing::Test {
protected:
  PlanJobTest() {
    table.producer = "test";
    table.target = std::make_unique<plan::TargetT>();
    step.name = "step";
    step.timeline = std::make_unique<plan::TimelineT>();
    step.timeline->microbatches = 2;
    step.timeline->rows.push_back(std::make_unique<plan::TimelineRowT>());
    for (const char *name : {"h", "g", "sum"}) {
      table.states.push_back(std::make_unique<plan::StateT>());
      table.states.back()->name = name;
      table.states.back()->role = 0;
      table.states.back()->type = std::make_unique<plan::TensorTypeT>();
    }
    addSegment("0F", {}, {"h"});
    addSegment("1F", {"h"}, {});
    addSegment("1B", {"h", "sum"}, {"g", "sum"});
    addSegment("0B", {"g"}, {});
  }

  void addSegment(const std::string &name, const std::vector<std::string> &in,
                  const std::vector<std::string> &out) {
    table.entries.push_back(std::make_unique<plan::EntryT>());
    table.entries.back()->name = "step." + name;
    table.entries.back()->role = 0;
    auto bind = [](auto &bindings, const std::vector<std::string> &names) {
      for (const std::string &each : names) {
        bindings.push_back(std::make_unique<plan::BindingT>());
        bindings.back()->name = each;
      }
    };
    bind(table.entries.back()->inputs, in);
    bind(table.entries.back()->outputs, out);
  }

  /// Runs segments by number, for a micro-batch each.
  void setRow(const std::vector<std::pair<uint32_t, uint32_t>> &runs) {
    for (auto [segment, microbatch] : runs)
      step.timeline->rows[0]->actions.emplace_back(plan::ActionKind::Run,
                                                   segment, microbatch);
  }

  /// What the checker says, or why it cannot.
  std::string verdict() {
    table.entries.push_back(std::make_unique<plan::EntryT>(step));
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(plan::Plan::Pack(builder, &table));
    const plan::Plan &plan =
        *flatbuffers::GetRoot<plan::Plan>(builder.GetBufferPointer());
    const plan::Entry &entry = *plan.entries()->Get(plan.entries()->size() - 1);
    std::string problem = findUnknownStage(plan, entry);
    return problem.empty() ? print(check(jobOf(plan, entry, waits)), "plan")
                           : problem;
  }

  enum Segment { F0, F1, B1, B0 };
  plan::PlanT table;
  plan::EntryT step;
  std::vector<timeline::Wait> waits;
};

TEST_F(PlanJobTest, OneMicrobatchAfterTheOther) {
  setRow(
      {{F0, 0}, {F1, 0}, {B1, 0}, {B0, 0}, {F0, 1}, {F1, 1}, {B1, 1}, {B0, 1}});
  EXPECT_THAT(verdict(), HasSubstr("safe"));
}

TEST_F(PlanJobTest, StagesOfARankAreOrderedByWhatTheyLeave) {
  setRow(
      {{F1, 0}, {F0, 0}, {B1, 0}, {B0, 0}, {F0, 1}, {F1, 1}, {B1, 1}, {B0, 1}});
  EXPECT_THAT(verdict(), HasSubstr("order: 1F0 needs 0F0 at 1:2, which does "
                                   "not end before it"));
}

TEST_F(PlanJobTest, TheOnlySlotIsInUse) {
  setRow(
      {{F0, 0}, {F0, 1}, {F1, 0}, {F1, 1}, {B1, 0}, {B0, 0}, {B1, 1}, {B0, 1}});
  EXPECT_THAT(verdict(), HasSubstr("which may still be in use by 1F0"));
}

TEST_F(PlanJobTest, ReductionsOfAStageAreBesideTheOthers) {
  addSegment("1REDUCE_GRAD", {"sum"}, {"sum"});
  table.entries.back()->deferred_from = 1;
  addSegment("0U0", {"sum"}, {});
  const uint32_t reduce = B0 + 1, update = reduce + 1;
  setRow({{F0, 0},
          {F1, 0},
          {B1, 0},
          {B0, 0},
          {F0, 1},
          {F1, 1},
          {B1, 1},
          {reduce, 0},
          {B0, 1},
          {update, 0}});
  plan::TimelineRowT &row = *step.timeline->rows[0];
  EXPECT_THAT(verdict(), HasSubstr("order: 0U0 does not wait for 1REDUCE_GRAD "
                                   "at 1:8, whose memory it uses"));
  waits = {{0, 9, 7}};
  EXPECT_THAT(verdict(), HasSubstr("safe"));
  std::swap(row.actions[6], row.actions[7]);
  EXPECT_THAT(verdict(), HasSubstr("order: 1REDUCE_GRAD must come once, behind "
                                   "all weight gradients of the stage"));
  std::swap(row.actions[6], row.actions[7]);
  std::rotate(row.actions.begin() + 7, row.actions.begin() + 8,
              row.actions.end());
  EXPECT_THAT(verdict(), HasSubstr("order: 0U0 needs the gradients of stage 1, "
                                   "which are not reduced"));
}

TEST_F(PlanJobTest, NamesSayTheStage) {
  table.entries[F1]->name = "step.forward";
  setRow({{F0, 0}, {F1, 0}});
  EXPECT_EQ(verdict(), "the name of segment \"step.forward\" does not say its "
                       "stage, as \"step.2F\" does");
}

} // namespace
