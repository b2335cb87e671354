//===- TableRulesTest.cpp - Tests of what a table must have ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/TableRules.h"

#include "Tables.h"

#include <gmock/gmock.h>

using namespace weft::timeline;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

std::vector<std::string> problemsOf(std::string_view csv) {
  return findProblems(tableOf(csv));
}

TEST(TableRules, AcceptsEverySchedule) {
  for (const NamedSchedule &schedule : namedSchedules())
    forEachSize([&](int32_t p, int32_t m) {
      for (int32_t v : {1, 2, 3}) {
        const ScheduleSize size = {p, m, v};
        if (admits(schedule.name, size))
          EXPECT_THAT(findProblems(tableOf(schedule.name, size)), IsEmpty())
              << schedule.name << ' ' << p << ' ' << m << ' ' << v;
      }
    });
}

TEST(TableRules, AcceptsCommunication) {
  EXPECT_THAT(problemsOf("0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD\n"
                         "1RECV_F0,1F0,1B0,1SEND_B0\n"),
              IsEmpty());
}

TEST(TableRules, ReportsCommunicationOfWhatIsNotThere) {
  EXPECT_THAT(
      problemsOf("0F0,0SEND_F0,0SEND_F1,1SEND_B0,0B0,5UNSHARD\n"
                 "1F0,1SEND_F0,1SEND_F0>0,1B0,1RESHARD\n"),
      ElementsAre("row 1: 0SEND_F1 is of micro-batch 1, which no row computes; "
                  "remove it",
                  "row 1: 1SEND_B0 is of stage 1, which is on the rank of row "
                  "2; move it there, or remove it",
                  "row 1: 5UNSHARD is of stage 5, which no row computes; "
                  "remove it",
                  "row 2: 1SEND_F0 has stage 2 at its other end, which no row "
                  "computes; remove it"));
}

TEST(TableRules, ReportsMissingActions) {
  EXPECT_THAT(problemsOf("0F0,0I0,0W0,0F1,0I1\n1F0,1W0,1B1\n2F0,2B0,2F1\n"),
              ElementsAre("row 1: 0W1 is missing; add it behind 0I1, or "
                          "replace that by 0B1",
                          "row 2: 1I0 is missing; add it before 1W0, or "
                          "replace that by 1B0",
                          "row 2: 1F1 is missing; add it",
                          "row 3: 2B1 is missing; add it, or 2I1 and 2W1"));
}

TEST(TableRules, ReportsMissingStagesAndRows) {
  EXPECT_THAT(problemsOf("0F0,0B0\n3F0,3B0\n\n5F0,5B0\n"),
              ElementsAre("row 3: has no compute action; a rank needs at least "
                          "one stage, remove the row or give it one",
                          "row 2: has stage 3, but no row has stages 1 to 2; "
                          "stages count from 0 without gaps",
                          "row 4: has stage 5, but no row has stage 4; stages "
                          "count from 0 without gaps"));
}

TEST(TableRules, ReportsActionsThatAreThereTwice) {
  EXPECT_THAT(
      problemsOf("0F0,0F0,0B0\n1F0,1B0,1W0\n"),
      ElementsAre("row 1: 0F0 is there more than once; remove all but one",
                  "row 2: 1B0 is there beside 1W0; a backward pass is either "
                  "B, or I and W: remove one"));
}

TEST(TableRules, ReportsAStageOnTwoRanks) {
  EXPECT_THAT(problemsOf("0F0,0B0\n1F0,1B0,0F1,0B1,1F1,1B1\n"),
              ElementsAre("row 2: 0F1 is of stage 0, which is on the rank of "
                          "row 1; move all actions of a stage to one row"));
}

TEST(TableRules, ReportsNumbersThatNoTableHas) {
  EXPECT_THAT(
      problemsOf("0F0,0B0,0F2000000000\n"),
      ElementsAre("row 1: 0F2000000000 is of a micro-batch that most stages do "
                  "not have; micro-batches count from 0 without gaps"));
}

TEST(TableRules, StopsAtSomeProblems) {
  std::string csv;
  for (int i = 0; i < 300; ++i)
    csv += (i ? "," : "") + std::to_string(0) + "F" + std::to_string(i);
  const std::vector<std::string> problems = problemsOf(csv);
  EXPECT_EQ(problems.size(), 101u);
  EXPECT_EQ(problems.back(), "row 1: more problems follow; mend these first");
}

TEST(TableRules, ReportsOrderWithinARank) {
  EXPECT_THAT(
      problemsOf("0B0,0F0\n1F0,1W0,1I0\n"),
      ElementsAre(
          "row 1: 0B0 stands before 0F0, which it needs; move it behind",
          "row 2: 1W0 stands before 1I0, which it needs; move it behind"));
  // Two stages of a rank: the turn of a V.
  EXPECT_THAT(
      problemsOf("1F0,0F0,0B0,1B0\n"),
      ElementsAre(
          "row 1: 0B0 stands before 1B0, which it needs; move it behind",
          "row 1: 1F0 stands before 0F0, which it needs; move it behind"));
}

TEST(TableRules, ReportsWhatIsOnceAStep) {
  EXPECT_THAT(problemsOf("0P0,0F0,0B0,0U0,0SEND_U0>1\n1F0,1B0,1RECV_U0<0\n"),
              ElementsAre("row 1: 0P0 is once a step; remove it, the compiler "
                          "adds such actions to a table",
                          "row 1: 0U0 is once a step; remove it, the compiler "
                          "adds such actions to a table",
                          "row 1: 0SEND_U0>1 is once a step; remove it, the "
                          "compiler adds such actions to a table",
                          "row 2: 1RECV_U0<0 is once a step; remove it, the "
                          "compiler adds such actions to a table"));
}

TEST(TableRules, ReportsPairsThatCannotOverlap) {
  EXPECT_THAT(problemsOf("(0F0;0B0)OVERLAP_F_B\n"),
              ElementsAre("row 1: 0B0 overlaps 0F0, which it needs; run one "
                          "after the other"));
}

TEST(TableRules, ReportsRanksThatWaitForEachOther) {
  EXPECT_THAT(
      problemsOf("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"),
      ElementsAre(
          "row 1: 0B0 can never start: 0B0 (row 1) waits for 1B0 (row 2), "
          "which comes after 1F1, 1F1 (row 2) waits for 0F1 (row 1), which "
          "comes after 0B0; move one of the actions that are waited for "
          "forward"));
}

} // namespace
