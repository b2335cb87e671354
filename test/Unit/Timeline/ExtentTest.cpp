//===- ExtentTest.cpp - Tests of what rows say ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Extent.h"

#include "Tables.h"

#include <gmock/gmock.h>

using namespace weft::timeline;
using testing::ElementsAre;

namespace {

TEST(Extent, IsWhatTheRowsSay) {
  const Extent extent =
      extentOf(tableOf("0F0,3F0,3I0,3W0,0B0\n1F0,2F0,2B0,1B0"));
  EXPECT_EQ(extent.stages, 4);
  EXPECT_EQ(extent.microbatches, 1);
  EXPECT_THAT(extent.placement, ElementsAre(0, 1, 1, 0));
  EXPECT_TRUE(extent.splitsBackward);
  EXPECT_FALSE(extentOf(tableOf("0F0,0B0")).splitsBackward);
}

TEST(Extent, LeavesCommunicationOut) {
  EXPECT_EQ(printCsv(computeOnly(tableOf("0UNSHARD,0F0,0SEND_F0,0RECV_B0,"
                                         "(0F1;1B0)OVERLAP_F_B,0RESHARD"))),
            "0F0,(0F1;1B0)OVERLAP_F_B\n");
}

TEST(MergeBackward, JoinsNeighbours) {
  EXPECT_EQ(printCsv(mergeBackward(tableOf("0I0,0I1,0W0,0I2,0W2,0W1"))),
            "0I0,0I1,0W0,0B2,0W1\n");
  // Not of other stages, and not out of an overlapped pair.
  EXPECT_EQ(printCsv(mergeBackward(tableOf("0I0,1W0"))), "0I0,1W0\n");
  EXPECT_EQ(printCsv(mergeBackward(tableOf("(0F1;0I0)OVERLAP_F_B,0W0"))),
            "(0F1;0I0)OVERLAP_F_B,0W0\n");
}

} // namespace
