//===- ParameterActionsTest.cpp - Gathers and reductions of a row ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"

#include "weft/Timeline/ParameterActions.h"

#include <gtest/gtest.h>

using namespace weft::timeline;

static Row parseRow(std::string_view text) {
  return tableOf(text).rows.front();
}

TEST(ParameterActionsTest, StagesAreGatheredAheadOfTheirUse) {
  const Row row = parseRow("0F0,0F1,1F0,1F1,1B0,1B1,0B0,0B1\n");
  EXPECT_EQ(printCsv({{addUnshards(row)}}),
            "0UNSHARD,1UNSHARD,0F0,0F1,1F0,1F1,1B0,1B1,1RESHARD,0B0,0B1,"
            "0RESHARD\n");
  EXPECT_EQ(printCsv({{addUnshards(row, 1)}}),
            "0UNSHARD,0F0,0F1,0RESHARD,1UNSHARD,1F0,1F1,1B0,1B1,1RESHARD,"
            "0UNSHARD,0B0,0B1,0RESHARD\n");
}

TEST(ParameterActionsTest, PairsAreNotTornApart) {
  const Row row = parseRow("0F0,(0F1;1B0)OVERLAP_F_B,1B1\n");
  EXPECT_EQ(printCsv({{addUnshards(row, 1)}}),
            "0UNSHARD,0F0,(0F1;1B0)OVERLAP_F_B,0RESHARD,1UNSHARD,1B1,"
            "1RESHARD\n");
}

TEST(ParameterActionsTest, PassesAreGatheredForOneActionAhead) {
  const auto gathered = [](std::string_view row) {
    return printCsv(
        {{addPassGathers(parseRow(row), {{0, ActionKind::UnshardForward},
                                         {0, ActionKind::UnshardBackward},
                                         {2, ActionKind::UnshardForward}})}});
  };
  // Behind the last one of the same pass.
  EXPECT_EQ(gathered("0F0,0F1,0B0\n"),
            "0UNSHARD_F0,0F0,0UNSHARD_F1,0UNSHARD_B0,0F1,0B0\n");
  EXPECT_EQ(gathered("0F0,2F0,2I0,0I0,2W0,0W0\n"),
            "0UNSHARD_F0,2UNSHARD_F0,0F0,2F0,0UNSHARD_B0,2I0,0I0,2W0,0W0\n");
  EXPECT_EQ(gathered("0F0,0F1,(2F0;0B0)OVERLAP_F_B,0B1\n"),
            "0UNSHARD_F0,0F0,0UNSHARD_F1,2UNSHARD_F0,0UNSHARD_B0,0F1,"
            "(2F0;0B0)OVERLAP_F_B,0UNSHARD_B1,0B1\n");
}

TEST(ParameterActionsTest, GradientsAreReducedBehindTheLastMicrobatch) {
  EXPECT_EQ(
      printCsv({{addGradientReductions(
          parseRow("0F0,0F1,1F0,1F1,1B0,1B1,0I0,0I1,0W0,0W1\n"), 2)}}),
      "0F0,0F1,1F0,1F1,1B0,1B1,1REDUCE_GRAD,0I0,0I1,0W0,0W1,0REDUCE_GRAD\n");
  EXPECT_EQ(printCsv({{addGradientReductions(parseRow("0F0,1F0,1B0,0B0\n"), 1,
                                             {{1}})}}),
            "0F0,1F0,1B0,1REDUCE_GRAD,0B0\n");
}
