//===- ParseCsvTest.cpp - Tests of reading tables -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"

#include <gmock/gmock.h>

using namespace weft::timeline;
using testing::ElementsAre;

namespace {

std::vector<std::string> errorsOf(std::string_view csv) {
  return parseCsv(csv, "t.csv").errors;
}

TEST(ParseCsv, ReadsWhatIsPrinted) {
  for (const NamedSchedule &schedule : namedSchedules()) {
    const Table table = tableOf(schedule.name, {.ranks = 4, .microbatches = 8});
    EXPECT_EQ(tableOf(printCsv(table)), table) << schedule.name;
  }
}

TEST(ParseCsv, ReadsEveryKindOfAction) {
  const std::string csv =
      "0UNSHARD,0F0,0SEND_F0,(0F1;3B0)OVERLAP_F_B,3I1,3W1,0RESHARD\n"
      "1RECV_F0,1SEND_B0,0RECV_B0,2B10,0SEND_F1>3,3RECV_F1<0,0REDUCE_GRAD\n";
  EXPECT_EQ(printCsv(tableOf(csv)), csv);
}

TEST(ParseCsv, ReadsWhatIsOnceAStep) {
  const std::string csv = "0P0,0SEND_P0>1,0F0,0B0,0U0,0RECV_U0<1,0U1\n"
                          "1RECV_P0<0,1P1,1F0,1B0,1U0,1SEND_U0>0\n";
  EXPECT_EQ(printCsv(tableOf(csv)), csv);
  EXPECT_EQ(extentOf(tableOf(csv)).microbatches, 1);
  EXPECT_THAT(errorsOf("0U,0P1>2,0SEND_U0,1RECV_P0>0\n"),
              ElementsAre("t.csv:1:1: found \"0U\", expected the number of a "
                          "level after U, as in 2U0",
                          "t.csv:1:2: found \"0P1>2\", expected no peer but "
                          "that of a transfer, as in 0SEND_F1>3 and 3RECV_F1<0",
                          "t.csv:1:3: found \"0SEND_U0\", expected the stage "
                          "at the other end, as in 0SEND_U1>3 and 3RECV_U1<0",
                          "t.csv:1:4: found \"1RECV_P0>0\", expected no peer "
                          "but that of a transfer, as in 0SEND_F1>3 and "
                          "3RECV_F1<0"));
}

TEST(ParseCsv, ReadsWhatPyTorchWrites) {
  // Idle slots are empty cells, lines end as CSV has it.
  EXPECT_EQ(printCsv(tableOf("0F0,0F1,,,0B0\r\n,1F0,1B0,,\r\n")),
            "0F0,0F1,0B0\n1F0,1B0\n");
  EXPECT_EQ(printCsv(tableOf(" 0F0 , \"0B0\"\n")), "0F0,0B0\n");
  // One idle slot alone.
  EXPECT_EQ(printCsv(tableOf("\"\"\r\n0F0,0B0\r\n")), "\n0F0,0B0\n");
  // Spreadsheets begin with a byte order mark.
  EXPECT_EQ(printCsv(tableOf("\xef\xbb\xbf"
                             "0F0,0B0\r\n")),
            "0F0,0B0\n");
}

TEST(ParseCsv, NeedsNoBreakAfterTheLastRow) {
  EXPECT_EQ(tableOf("0F0,0B0\n1F0,1B0"), tableOf("0F0,0B0\n1F0,1B0\n"));
}

TEST(ParseCsv, ReportsAllProblemsWithTheirPlaces) {
  EXPECT_THAT(
      errorsOf("0F0,F1,0G0\n,1F,1UNSHARD2,1F99999999999\n1B0>2,1SEND_F0<2\n"),
      ElementsAre(
          "t.csv:1:2: found \"F1\", expected an action that begins with its "
          "stage, as 2F0 does",
          "t.csv:1:3: found \"0G0\", expected one of F, B, I, W, SEND_F, "
          "RECV_F, SEND_B, RECV_B, UNSHARD, RESHARD, REDUCE_GRAD after the "
          "stage, as in 2F0",
          "t.csv:2:2: found \"1F\", expected the number of a micro-batch after "
          "F, as in 2F0",
          "t.csv:2:3: found \"1UNSHARD2\", expected nothing after UNSHARD, "
          "which is of no micro-batch",
          "t.csv:2:4: found \"1F99999999999\", expected numbers of at most "
          "2147483646",
          "t.csv:3:1: found \"1B0>2\", expected no peer but that of a "
          "transfer, as in 0SEND_F1>3 and 3RECV_F1<0",
          "t.csv:3:2: found \"1SEND_F0<2\", expected no peer but that of a "
          "transfer, as in 0SEND_F1>3 and 3RECV_F1<0"));
}

TEST(ParseCsv, ReportsPairs) {
  EXPECT_THAT(
      errorsOf("(0F1;1B0,(0F1;1B0)OVERLAP,(0F1)OVERLAP_F_B,(1B0;0F1)OVERLAP_F_B"
               ",(0F1;0F2;1B0)OVERLAP_F_B,(0F1;B0)OVERLAP_F_B"),
      ElementsAre(
          "t.csv:1:1: found \"(0F1;1B0\", expected a pair to end with "
          ")OVERLAP_F_B, as in (0F7;7B3)OVERLAP_F_B",
          "t.csv:1:2: found \"(0F1;1B0)OVERLAP\", expected a pair to end with "
          ")OVERLAP_F_B, as in (0F7;7B3)OVERLAP_F_B",
          "t.csv:1:3: found \"(0F1)OVERLAP_F_B\", expected two actions in a "
          "pair, separated by \";\"",
          "t.csv:1:4: found \"(1B0;0F1)OVERLAP_F_B\", expected a forward pass "
          "(F) and then a backward pass (B or I) in a pair",
          "t.csv:1:5: found \"(0F1;0F2;1B0)OVERLAP_F_B\", expected two actions "
          "in a pair, separated by \";\"",
          "t.csv:1:6: found \"B0\", expected an action that begins with its "
          "stage, as 2F0 does"));
}

TEST(ParseCsv, ReportsAnEmptyFile) {
  EXPECT_THAT(errorsOf(""),
              ElementsAre("t.csv:1:1: found an empty file, expected one row of "
                          "actions for each rank"));
}

} // namespace
