//===- ControlledMemoryTest.cpp - Tests of V-Half and V-Min ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// V-Half and V-Min keep to the memory and about to the bubble that their paper
// states.
//
//===----------------------------------------------------------------------===//

#include "Tables.h"

using namespace weft::timeline;

namespace {

Timing unitTiming(std::string_view name, int32_t p, int32_t m) {
  const Table table = tableOf(name, {.ranks = p, .microbatches = m});
  return timingOf(table, evenCosts(table, 1, 1, 1));
}

TEST(ControlledMemory, PeaksAreThoseOfThePaper) {
  for (int32_t p = 1; p <= 24; ++p)
    for (int32_t m : {1, 2, 3, p, 2 * p, 3 * p + 1}) {
      EXPECT_LE(unitTiming("v-half", p, m).peak(), (p + 2) / 2 + 1e-9)
          << p << ' ' << m;
      EXPECT_LE(unitTiming("v-min", p, m).peak(), (p + 4) / 3 + 1e-9)
          << p << ' ' << m;
    }
}

/// Bubbles of 1F1B are 3(p - 1) long, whatever m; these are half and two thirds
/// of that for many ranks.
TEST(ControlledMemory, BubblesAreThoseOfThePaper) {
  for (int32_t p : {4, 6, 8, 9, 16, 24}) {
    const double ofOneForwardOneBackward = 3 * (p - 1);
    for (int32_t m : {2 * p, 4 * p}) {
      EXPECT_LE(unitTiming("v-half", p, m).bubble(0),
                0.56 * ofOneForwardOneBackward)
          << p << ' ' << m;
      EXPECT_LE(unitTiming("v-min", p, m).bubble(0),
                0.67 * ofOneForwardOneBackward)
          << p << ' ' << m;
    }
  }
}

} // namespace
