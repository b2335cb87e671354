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

TEST(ParameterActionsTest, GradientsAreReducedBehindTheLastMicrobatch) {
  EXPECT_EQ(
      printCsv({{addGradientReductions(
          parseRow("0F0,0F1,1F0,1F1,1B0,1B1,0I0,0I1,0W0,0W1\n"), 2)}}),
      "0F0,0F1,1F0,1F1,1B0,1B1,1REDUCE_GRAD,0I0,0I1,0W0,0W1,0REDUCE_GRAD\n");
  EXPECT_EQ(printCsv({{addGradientReductions(parseRow("0F0,1F0,1B0,0B0\n"), 1,
                                             {{1}})}}),
            "0F0,1F0,1B0,1REDUCE_GRAD,0B0\n");
}
