//===- SlotsTest.cpp - Tests of slots -------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Slots.h"

#include "Tables.h"

#include <gmock/gmock.h>

using namespace weft::timeline;
using testing::ElementsAre;

namespace {

TEST(Slots, AreThoseOfThePublishedExample) {
  const Table table =
      tableOf("0F0,0F1,0I0,0F2,0W0,0F3,0I1,0W1,0I2,0W2,0I3,0W3");
  const Slots slots = assignSlots(table.rows[0], 1);
  EXPECT_THAT(slots.counts, ElementsAre(3));
  EXPECT_THAT(slots.ofAction, ElementsAre(0, 1, 0, 2, 0, 0, 1, 1, 2, 2, 0, 0));
}

TEST(Slots, AreOfEachStage) {
  const Table table = tableOf("0UNSHARD,0F0,3F0,0F1,3B0,3F1,0B0,3B1,0B1");
  const Slots slots = assignSlots(table.rows[0], 4);
  EXPECT_THAT(slots.counts, ElementsAre(2, 0, 0, 1));
  EXPECT_THAT(slots.ofAction, ElementsAre(-1, 0, 0, 1, 0, 0, 0, 0, 1));
}

TEST(Slots, AreAsManyAsActivationsAtThePeakOfOneStage) {
  for (std::string_view name : {"gpipe", "1f1b", "zb-h1", "zb-h2"}) {
    const Table table = tableOf(name, {.ranks = 4, .microbatches = 8});
    const Timing timing = timingOf(table, evenCosts(table, 1, 1, 1));
    for (int32_t rank = 0; rank < 4; ++rank)
      EXPECT_EQ(assignSlots(table.rows[rank], 4).counts[rank],
                timing.ranks[rank].peakSlots)
          << name << ' ' << rank;
  }
}

} // namespace
