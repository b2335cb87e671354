//===- KeptValuesTest.cpp - What to keep and what to recompute ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Optimize/KeptValues.h"

#include <gmock/gmock.h>

#include <random>

using namespace weft::optimize;
using ::testing::ElementsAre;

TEST(KeptValues, KeepsWhatTheOthersAreMadeOf) {
  auto found = chooseKeptValues(
      {{{}, 4, forbidden, false}, {{0}, 4, 0, true}, {{0, 1}, 4, 0, true}});
  EXPECT_THAT(found, ElementsAre(Availability::Kept, Availability::Recomputed,
                                 Availability::Recomputed));
}

TEST(KeptValues, RecomputesNoMoreThanItMust) {
  auto found = chooseKeptValues(
      {{{}, 4, forbidden, false}, {{0}, 4, 0, false}, {{1}, 4, 0, true}});
  EXPECT_THAT(found, ElementsAre(Availability::None, Availability::None,
                                 Availability::Kept));
}

TEST(KeptValues, PaysForRecomputation) {
  auto found = chooseKeptValues(
      {{{}, 4, forbidden, true}, {{0}, 4, 3, true}, {{0}, 4, 5, true}});
  EXPECT_THAT(found, ElementsAre(Availability::Kept, Availability::Recomputed,
                                 Availability::Kept));
}

/// What a choice costs, or `forbidden` if it is none.
static Cost priceOf(const std::vector<KeepableValue> &values,
                    const std::vector<Availability> &choice) {
  Cost price = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].isNeeded && choice[i] == Availability::None)
      return forbidden;
    if (choice[i] == Availability::Kept)
      price += values[i].keeping;
    if (choice[i] != Availability::Recomputed)
      continue;
    if (values[i].recomputing >= forbidden)
      return forbidden;
    price += values[i].recomputing;
    for (uint32_t operand : values[i].operands)
      if (choice[operand] == Availability::None)
        return forbidden;
  }
  return price;
}

TEST(KeptValues, NoChoiceCostsLess) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<KeepableValue> values(7);
    for (size_t i = 0; i < values.size(); ++i) {
      for (uint32_t operand = 0; operand < i; ++operand)
        if (random() % 3 == 0)
          values[i].operands.push_back(operand);
      values[i].keeping = random() % 9;
      bool canBe = random() % 4 != 0 && !values[i].operands.empty();
      values[i].recomputing = canBe ? Cost(random() % 4) : forbidden;
      values[i].isNeeded = random() % 3 == 0;
    }
    Cost least = forbidden;
    std::vector<Availability> choice(values.size());
    for (size_t number = 0; number < 2187; ++number) {
      for (size_t i = 0, rest = number; i < values.size(); ++i, rest /= 3)
        choice[i] = Availability(rest % 3);
      least = std::min(least, priceOf(values, choice));
    }
    EXPECT_EQ(priceOf(values, chooseKeptValues(values)), least);
  }
}
