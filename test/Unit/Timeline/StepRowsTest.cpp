//===- StepRowsTest.cpp - All that the ranks of a step do -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepShapes.h"
#include "Tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft::timeline;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// The shape of two stages with a parameter that both use.
StepShape tiedShape() { return shapeOf({0, 1}, 1, Once::Tied); }

constexpr const char *tiedRows =
    "0F0,0SEND_F0,0RECV_B0,0B0,0U0,0RECV_U0<1,0U1,0SEND_U1>1\n"
    "1RECV_F0,1F0,1B0,1SEND_B0,1U0,1SEND_U0>0,1U1,1RECV_U1<0,1U2\n";

std::string verdictOf(std::string_view rows, const StepShape &shape) {
  return print(check(makeJob(tableOf(rows), shape)), "t.csv");
}

} // namespace

TEST(StepRowsTest, LevelsStandAroundTheMicrobatches) {
  const TransferredTable rows =
      makeStepRows(tableOf("0F0,0B0\n1F0,1B0\n"), tiedShape());
  EXPECT_EQ(rows.error, "");
  EXPECT_EQ(printCsv(rows.table), tiedRows);
  EXPECT_EQ(tableOf(tiedRows), rows.table);
  const Verdict verdict = check(makeJob(rows.table, tiedShape()));
  EXPECT_TRUE(verdict.isSafe()) << print(verdict, "");
  EXPECT_EQ(verdict.messages, 4);
  EXPECT_EQ(verdict.edges, 4);
  EXPECT_THAT(print(verdict, ""),
              HasSubstr("safe: 17 actions, 2 stages, 1 micro-batch, 5 levels "
                        "once a step, 4 messages over 4 edges, 8 queues\n"));
}

TEST(StepRowsTest, StagesOfOneRankExchangeNothing) {
  StepShape shape = shapeOf({0, 1, 1, 0}, 1, Once::Tied);
  const TransferredTable rows =
      makeStepRows(tableOf("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n"), shape);
  EXPECT_EQ(printCsv(rows.table),
            "0F0,0SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,0RECV_B0,0B0,0U0,3U0,0U1,"
            "3U1,3U2\n"
            "1RECV_F0,1F0,2F0,2SEND_F0,2RECV_B0,2B0,1B0,1SEND_B0,1U0,2U0,1U1,"
            "2U1\n");
  const Job job = makeJob(rows.table, shape);
  EXPECT_TRUE(check(job).isSafe());
}

TEST(StepRowsTest, WhatNoLevelNeedsGoesToTheFirstAction) {
  StepShape shape = shapeOf({0, 1}, 1, Once::None);
  shape.prologueLevels = {1};
  shape.onceEdges = {{0, 1, false, 0, 8}};
  EXPECT_EQ(printCsv(makeStepRows(tableOf("0F0,0B0\n1F0,1B0\n"), shape).table),
            "0P0,0SEND_P0>1,0F0,0SEND_F0,0RECV_B0,0B0\n"
            "1RECV_P0<0,1RECV_F0,1F0,1B0,1SEND_B0\n");
  EXPECT_THAT(verdictOf("0P0,0SEND_P0>1,0F0,0SEND_F0,0RECV_B0,0B0\n"
                        "1RECV_F0,1F0,1RECV_P0<0,1B0,1SEND_B0\n",
                        shape),
              HasSubstr("t.csv:2:2: order: 1F0 needs 1RECV_P0<0 at 2:3, which "
                        "does not end before it"));
}

TEST(StepRowsTest, ShapesThatAskForTheImpossible) {
  const Table table = tableOf("0F0,0B0\n1F0,1B0\n");
  StepShape shape = tiedShape();
  shape.onceEdges.push_back({0, 1, true, 2});
  EXPECT_EQ(makeStepRows(table, shape).error,
            "update level 2 of stage 0, sent to stage 1, does not exist");
  shape = tiedShape();
  shape.onceEdges.push_back(shape.onceEdges.front());
  EXPECT_EQ(makeStepRows(table, shape).error,
            "update level 0 of stage 1, sent to stage 0, is sent there twice");
  EXPECT_EQ(makeStepRows(tableOf("0B0,0F0\n1F0,1B0\n"), tiedShape()).error,
            "rank 0 cannot go beyond 0B0, whose inputs are made behind it or "
            "not at all");
}

TEST(StepRowsTest, OnceAStepHasItsOwnQueues) {
  const StepShape shape = shapeOf({0, 1, 1, 0}, 1, Once::All);
  const StepQueues queues = assignQueues(shape);
  EXPECT_THAT(queues.names,
              ElementsAre("stages 0->1", "stages 2->3", "stages 1->0",
                          "stages 3->2", "once, ranks 0->1",
                          "once, ranks 1->0"));
  // Stages 1 and 2 are on one rank.
  EXPECT_THAT(queues.ofEdge, ElementsAre(0, -1, 1, 2, -1, 3));
  EXPECT_EQ(queues.ofOnceEdge.size(), shape.onceEdges.size());
  EXPECT_EQ(queues.ofOnceEdge.front(), -1); // from stage 3 to 0
  EXPECT_THAT(assignQueues(shape, Communicators::DirectedPair).names,
              ElementsAre("ranks 0->1", "ranks 1->0"));
  const TransferredTable rows =
      makeStepRows(tableOf("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n"), shape);
  EXPECT_EQ(makeJob(rows.table, shape).communicators, queues.names);
}

TEST(StepRowsTest, EveryScheduleIsSafe) {
  int jobs = 0;
  for (const NamedSchedule &schedule : namedSchedules())
    for (const ScheduleSize size : {ScheduleSize{1, 4},
                                    {2, 1},
                                    {2, 4},
                                    {2, 8},
                                    {3, 3},
                                    {3, 9},
                                    {4, 8},
                                    {4, 16},
                                    {8, 16},
                                    {2, 8, 3},
                                    {4, 8, 2},
                                    {4, 16, 4}})
      for (Once once : {Once::Norm, Once::Tied, Once::All}) {
        const GeneratedTable generated = generate(schedule.name, size);
        if (!generated.error.empty())
          continue;
        const StepShape shape =
            shapeOf(placementOf(schedule, size), size.microbatches, once);
        for (Receives receives :
             {Receives::BeforeUse, Receives::OneAhead, Receives::WithSend}) {
          const TransferredTable rows =
              makeStepRows(generated.table, shape, receives);
          ASSERT_EQ(rows.error, "") << schedule.name;
          // What is printed loads again, and says what it has to do.
          const Table loaded = tableOf(printCsv(rows.table));
          EXPECT_EQ(loaded, rows.table);
          for (Communicators policy :
               {Communicators::One, Communicators::RankPair,
                Communicators::DirectedPair, Communicators::Edge}) {
            if (receives != Receives::WithSend &&
                policy < Communicators::DirectedPair)
              continue;
            for (Job job : {makeJob(rows.table, shape, policy),
                            makeJob(loaded, policy)}) {
              job.gradientOrder =
                  gradientOrderOf(schedule.name, size.microbatches);
              const Verdict verdict = check(job);
              EXPECT_TRUE(verdict.isSafe()) << print(verdict, schedule.name);
              EXPECT_TRUE(receives != Receives::WithSend ||
                          verdict.has(Condition::C3));
              EXPECT_EQ(verdict.microbatches, size.microbatches);
              ++jobs;
            }
          }
        }
      }
  EXPECT_GE(jobs, 1000);
}

TEST(StepRowsTest, DamagedLevelsAreRejected) {
  const auto expect = [](std::string_view rows, const char *problem) {
    EXPECT_THAT(verdictOf(rows, tiedShape()), HasSubstr(problem)) << rows;
  };
  constexpr const char *rankOne =
      "1RECV_F0,1F0,1B0,1SEND_B0,1U0,1SEND_U0>0,1U1,1RECV_U1<0,1U2\n";
  const auto expectOfFirst = [&](const std::string &row, const char *problem) {
    expect(row + "\n" + rankOne, problem);
  };
  EXPECT_THAT(verdictOf(tiedRows, tiedShape()), HasSubstr("safe: "));
  expectOfFirst("0F0,0SEND_F0,0RECV_B0,0B0,0U1,0RECV_U0<1,0U0,0SEND_U1>1",
                "t.csv:1:5: order: 0U1 needs 0U0 at 1:7, which does not end "
                "before it");
  expectOfFirst("0F0,0SEND_F0,0RECV_B0,0U0,0B0,0RECV_U0<1,0U1,0SEND_U1>1",
                "t.csv:1:4: order: 0U0 needs 0B0 at 1:5, which does not end "
                "before it");
  expectOfFirst("0F0,0SEND_F0,0RECV_B0,0B0,0U0,0U1,0RECV_U0<1,0SEND_U1>1",
                "t.csv:1:6: order: 0U1 needs 0RECV_U0<1 at 1:7, which does "
                "not end before it");
  expectOfFirst("0F0,0SEND_F0,0RECV_B0,0B0,0U0,0RECV_U0<1,0SEND_U1>1,0U1",
                "t.csv:1:7: order: 0SEND_U1>1 needs 0U1 at 1:8, which does "
                "not end before it");
  expectOfFirst("0F0,0SEND_F0,0RECV_B0,0B0,0RECV_U0<1,0U1,0SEND_U1>1",
                "t.csv:1: order: 0U0 is missing");
  expectOfFirst("0F0,0SEND_F0,0RECV_B0,0B0,0U0,0RECV_U0<1,0U1",
                "t.csv:1: C1: 0SEND_U1>1 is missing");
  expectOfFirst("0F0,0SEND_F0,0RECV_B0,0B0,0U0,0U1,0SEND_U1>1",
                "t.csv:1: C1: 0RECV_U0<1 is missing");
  expectOfFirst("0F0,0SEND_F0,0RECV_B0,0B0,0U0,0RECV_U0<1,0U1,0SEND_U1>1,0U1",
                "t.csv:1:9: order: 0U1 repeats 0U1 at 1:7");
  expectOfFirst("0F0,0SEND_F0,0RECV_B0,0B0,0U0,0RECV_U0<1,0U1,0SEND_U0>1",
                "t.csv:1:8: order: 0SEND_U0>1 is unexpected: stage 0 to 1 "
                "exchange nothing");
  expectOfFirst("0F0,0SEND_F0,0RECV_B0,0B0,0U0,0RECV_U0<1,0U1,0SEND_U1>1,0U2",
                "t.csv:1:9: order: 0U2 is unexpected: the stage has 2 such "
                "levels");
  expectOfFirst("0P0,0F0,0SEND_F0,0RECV_B0,0B0,0U0,0RECV_U0<1,0U1,0SEND_U1>1",
                "t.csv:1:1: order: 0P0 is unexpected: the stage has 0 such "
                "levels");
  expect("0F0,0SEND_F0,0RECV_B0,0B0,0U0,0RECV_U0<1,0U1,0SEND_U1>1,1U2\n"
         "1RECV_F0,1F0,1B0,1SEND_B0,1U0,1SEND_U0>0,1U1,1RECV_U1<0\n",
         "t.csv:1:9: order: 1U2 belongs on rank 1, which computes stage 1");
}

TEST(StepRowsTest, DamagedJobsAreRejected) {
  const Table table = tableOf(tiedRows);
  const auto expect = [&](const char *problem, auto damage) {
    Job job = makeJob(table, tiedShape());
    damage(job);
    EXPECT_THAT(print(check(job), "t.csv"), HasSubstr(problem));
  };
  expect("t.csv:1:6: C1: 0RECV_U0<1 and 1SEND_U0>0 at 2:6 differ in bytes: 1 "
         "and 1024",
         [](Job &job) { job.rows[0][5].bytes = 1; });
  expect("t.csv:2:6: C1: 1SEND_U0>0 sends 1024 bytes, the edge carries 8",
         [](Job &job) { job.onceEdges[0].bytes = 8; });
  expect("t.csv:1:6: C1: 0RECV_U0<1 and 1SEND_U0>0 at 2:6 differ in "
         "communicator: once, ranks 0->1 and once, ranks 1->0",
         [](Job &job) {
           job.rows[0][5].communicator = job.rows[0][7].communicator;
         });
  expect("order: stage 1 has no level 3 of an update to send to stage 0",
         [](Job &job) { job.onceEdges[0].level = 3; });
  expect("order: 2000000003 levels in a prologue or an update; actions in "
         "all: 17",
         [](Job &job) { job.updateLevels[0] = 2000000000; });
  expect("order: 0U0 needs the gradients of stage 0, which are not reduced",
         [](Job &job) { job.reducedStages = {0}; });
}

// Behind what the last pass of the stage sends.
TEST(StepRowsTest, StagesThatAreDoneReduceTheirGradients) {
  StepShape shape = shapeOf({0, 1, 0, 1}, 2, Once::None);
  shape.updateLevels = {1, 1};
  shape.reducedStages = {2, 3};
  const Table table = tableOf("0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n"
                              "1F0,1F1,3F0,3F1,3B0,3B1,1B0,1B1\n");
  const TransferredTable rows = makeStepRows(table, shape);
  ASSERT_EQ(rows.error, "");
  EXPECT_THAT(printCsv(rows.table),
              AllOf(HasSubstr("2B1,2SEND_B1,2REDUCE_GRAD,"),
                    HasSubstr("3B1,3SEND_B1,3REDUCE_GRAD,"),
                    Not(HasSubstr("0REDUCE_GRAD"))));
  Job job = makeJob(rows.table, shape);
  EXPECT_TRUE(check(job).isSafe());
  for (size_t column = 0; column < job.rows[0].size(); ++column)
    if (job.rows[0][column].action.kind == ActionKind::ReduceGradient) {
      job.rows[0].erase(job.rows[0].begin() + int64_t(column));
      break;
    }
  EXPECT_THAT(print(check(job), "t.csv"),
              HasSubstr("0U0 needs the gradients of stage 2, which are not "
                        "reduced"));
}

// In the order of their first use, behind the prologue.
TEST(StepRowsTest, StagesThatBeginLateGatherTheirParameters) {
  StepShape shape = shapeOf({0, 1, 0, 1, 0, 1}, 2, Once::None);
  shape.prologueLevels = {1, 1};
  shape.gatheredStages = {4, 2, 5};
  const Table table = generate("interleaved-1f1b", {2, 2, 3}).table;
  const TransferredTable rows = makeStepRows(table, shape);
  ASSERT_EQ(rows.error, "");
  const std::string text = printCsv(rows.table);
  EXPECT_THAT(text, StartsWith("0P0,2UNSHARD,4UNSHARD,0F0,"));
  EXPECT_THAT(text, HasSubstr("\n1P0,5UNSHARD,1RECV_F0,"));
  Job job = makeJob(rows.table, shape);
  EXPECT_TRUE(check(job).isSafe());
  job.rows[1].erase(job.rows[1].begin() + 1);
  EXPECT_THAT(print(check(job), "t.csv"),
              HasSubstr("5F0 needs the parameters, which are not gathered"));
}

// Each waits for a number of the other in front of its own.
TEST(StepRowsTest, LevelsCanDeadlock) {
  StepShape shape = shapeOf({0, 1}, 1, Once::Norm);
  const char *rows =
      "0F0,0SEND_F0,0RECV_B0,0B0,0U0,0RECV_U0<1,0SEND_U0>1,0U1\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1U0,1RECV_U0<0,1SEND_U0>0,1U1\n";
  EXPECT_THAT(verdictOf(rows, shape), HasSubstr("C3 does not hold"));
  const Verdict verdict =
      check(makeJob(tableOf(rows), shape, Communicators::RankPair));
  EXPECT_FALSE(verdict.isSafe());
  EXPECT_THAT(print(verdict, "t.csv"),
              HasSubstr("0RECV_U0<1 (1:6) waits for 1SEND_U0>0 (2:7) on rank "
                        "1\n"));
}
