//===- DrawTest.cpp - Tests of the pictures -------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Draw.h"

#include "Tables.h"

#include <gmock/gmock.h>

using namespace weft::timeline;
using testing::HasSubstr;

namespace {

TEST(DrawText, HasLabelsWhereThereIsRoom) {
  const Table table = tableOf("1f1b", {.ranks = 2, .microbatches = 2});
  const Timing timing = timingOf(table, evenCosts(table, 1, 1, 1));
  EXPECT_EQ(drawText(table, timing), "rank 0 |F0 F1 ......B0    ...B1    |\n"
                                     "rank 1 |...F0 B0    F1 B1    ......|\n");
  EXPECT_EQ(drawText(table, timing, 9), "rank 0 |FF..BB.BB|\n"
                                        "rank 1 |.FBBFBB..|\n");
  EXPECT_EQ(drawText(table, timing, 4), "rank 0 |F.BB|\n"
                                        "rank 1 |FBB.|\n");
}

TEST(DrawText, HasSmallLettersForSecondChunks) {
  const Table table = tableOf("zb-v", {.ranks = 1, .microbatches = 1});
  EXPECT_EQ(drawText(table, timingOf(table, evenCosts(table, 1, 1, 1))),
            "rank 0 |F0 f0 i0 w0 I0 W0 |\n");
}

TEST(DrawText, DividesPairs) {
  const Table table =
      tableOf("0F0,3F0,3B0,(0F1;0B0)OVERLAP_F_B,3F1,3B1,0B1\n1F0,2F0,2B0,1B0,"
              "1F1,2F1,2B1,1B1\n");
  const Timing timing = timingOf(table, evenCosts(table, 2, 1, 1));
  EXPECT_THAT(drawText(table, timing), HasSubstr("F1 B0 "));
}

TEST(DrawSvg, ShowsEveryAction) {
  const Table table = tableOf("zb-v", {.ranks = 2, .microbatches = 4});
  const Timing timing = timingOf(table, evenCosts(table, 1, 1, 1));
  const std::string svg = drawSvg(table, timing, "a < b & \"c\"");
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; &quot;c&quot;"));
  for (const Row &row : table.rows)
    for (const Action &action : row)
      EXPECT_THAT(svg, HasSubstr("<title>" + print(action) + ", "));
  EXPECT_THAT(svg, HasSubstr("<title>0F0, 0 to 0.5</title>"));
  EXPECT_THAT(svg, HasSubstr("W: weight gradient"));
  EXPECT_THAT(svg, HasSubstr("light: second chunk of the rank"));
}

TEST(DrawSvg, DrawsATableWithoutTimes) {
  const Table table = tableOf("1f1b", {.ranks = 2, .microbatches = 2});
  EXPECT_THAT(
      drawSvg(table, timingOf(table, evenCosts(table, 0, 0, 0)), "none"),
      HasSubstr("</svg>"));
  EXPECT_EQ(drawText(table, timingOf(table, evenCosts(table, 0, 0, 0))),
            "rank 0 ||\nrank 1 ||\n");
}

} // namespace
