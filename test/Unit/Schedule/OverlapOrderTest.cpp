//===- OverlapOrderTest.cpp - Orders of computation and communication -----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/OverlapOrder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

using namespace weft;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

Step compute(std::initializer_list<int32_t> operands, int64_t time = 1) {
  return {operands, false, false, time};
}
Step collective(int32_t operand, int64_t time = 1, bool enlarges = false) {
  return {{operand}, true, enlarges, time};
}
/// Of steps whose priority is their position in the program.
std::vector<Action> inProgramOrder(const std::vector<Step> &steps,
                                   const OverlapOptions &options = {}) {
  std::vector<int64_t> priorities(steps.size());
  for (size_t step = 0; step < steps.size(); ++step)
    priorities[step] = -int64_t(step);
  return overlapOrder(steps, priorities, options);
}
Action run(int32_t step) { return {step, false}; }
Action wait(int32_t step) { return {step, true}; }

TEST(OverlapOrder, WeightGradientRunsBesideTheAllReduceOfTheInputGradient) {
  // dy; dw = f(dy); dx = g(dy); r = all_reduce(dx); use(r)
  std::vector<Step> steps = {compute({}), compute({0}), compute({0}),
                             collective(2), compute({3})};
  EXPECT_THAT(fastestOrder(steps, 0),
              ElementsAre(run(0), run(2), run(3), run(1), wait(3), run(4)));
  EXPECT_THAT(programOrder(steps),
              ElementsAre(run(0), run(1), run(2), run(3), wait(3), run(4)));
}

TEST(OverlapOrder, WaitsAtTheFirstUseOnly) {
  // A gradient that is used by the update at the end.
  std::vector<Step> steps = {compute({}), collective(0, 10), compute({0}),
                             compute({2}), compute({1, 3})};
  EXPECT_THAT(inProgramOrder(steps),
              ElementsAre(run(0), run(1), run(2), run(3), wait(1), run(4)));
}

// Casts of shards, gathers, and transposes of what they give; the second
// gather is of what the first one gives.
TEST(OverlapOrder, StartsComeFirst) {
  std::vector<Step> steps = {compute({}), collective(0),  compute({1}),
                             compute({}), collective(3),  compute({4}),
                             compute({}), compute({5, 6})};
  EXPECT_THAT(startsFirst(steps),
              ElementsAre(run(0), run(1), run(3), run(4), wait(1), run(2),
                          wait(4), run(5), run(6), run(7)));
  // Two gathers, each over two axes.
  EXPECT_THAT(
      startsFirst(std::vector<Step>{compute({}), collective(0), collective(1),
                                    collective(0), collective(3)}),
      ElementsAre(run(0), run(1), run(3), wait(1), run(2), wait(3), run(4),
                  wait(2), wait(4)));
  steps[3].operands = {2};
  EXPECT_THAT(startsFirst(steps),
              ElementsAre(run(0), run(1), wait(1), run(2), run(3), run(4),
                          wait(4), run(5), run(6), run(7)));
}

TEST(OverlapOrder, ResultsOfTheProgramAreWaitedForAtTheEnd) {
  std::vector<Step> steps = {compute({}), collective(0), compute({0})};
  EXPECT_THAT(inProgramOrder(steps),
              ElementsAre(run(0), run(1), run(2), wait(1)));
}

TEST(OverlapOrder, CollectiveOfACollective) {
  std::vector<Step> steps = {compute({}), collective(0), collective(1),
                             compute({2, 0})};
  EXPECT_THAT(inProgramOrder(steps),
              ElementsAre(run(0), run(1), wait(1), run(2), wait(2), run(3)));
}

TEST(OverlapOrder, CollectiveOfACollectiveStartsWhenThatIsOver) {
  // A gradient is scattered, reduced further and used at the end.
  std::vector<Step> steps = {compute({}), collective(0), collective(1)};
  for (int i = 0; i < 40; ++i)
    steps.push_back(compute({int32_t(steps.size()) - (i ? 1 : 3)}));
  steps.push_back(compute({2, int32_t(steps.size()) - 1}));
  std::vector<Action> actions = inProgramOrder(steps);
  ASSERT_THAT(checkOrder(steps, actions), IsEmpty());
  EXPECT_LT(std::find(actions.begin(), actions.end(), run(2)) - actions.begin(),
            6);
}

TEST(OverlapOrder, SecondHopsWaitForTheirTurnOnBusyLinks) {
  // While all wait for step 2, both second hops (7 and 9) become ready on its
  // links; step 4 is ready later and goes ahead of one of them.
  std::vector<Step> steps = {
      compute({}, 0),   compute({0}, 2),  collective(1, 6),  compute({2}),
      collective(3, 3), compute({4}),     collective(0, 4),  collective(6, 5),
      collective(0, 1), collective(8, 5), compute({5, 7, 9})};
  steps[6].link = steps[8].link = 1;
  EXPECT_EQ(costOf(steps, inProgramOrder(steps)).picoseconds, 22);
}

TEST(OverlapOrder, WaitsFreeWhatWasReduced) {
  // A gradient is scattered, which takes 2, and used at the end.
  std::vector<Step> steps = {compute({}), collective(0, 2), compute({}),
                             collective(2, 5), compute({2})};
  steps[0].bytes = 8;
  steps[1].bytes = 1;
  for (int i = 0; i < 8; ++i)
    steps.push_back(compute({int32_t(steps.size()) - 1}));
  steps.push_back(compute({1, 3, int32_t(steps.size()) - 1}));
  const std::vector<Action> actions = inProgramOrder(steps);
  ASSERT_THAT(checkOrder(steps, actions), IsEmpty());
  auto find = [&](const Action &action) {
    return std::find(actions.begin(), actions.end(), action) - actions.begin();
  };
  EXPECT_LT(find(wait(1)), find(run(7)));
}

TEST(OverlapOrder, CollectivesOfALevelOfLinksAreInOneQueue) {
  // The first is waited for last.
  std::vector<CollectiveSpan> spans = {{0, 0, 9}, {0, 1, 2}, {0, 3, 4}};
  EXPECT_THAT(findSecondQueue(spans), ElementsAre(true, false, false));
  spans[1].link = 1;
  EXPECT_THAT(findSecondQueue(spans), ElementsAre(false, true, false));
  EXPECT_THAT(findSecondQueue({}), IsEmpty());
}

/// Whatever the order: of one level of links nothing in the first queue is
/// overtaken by anything, and everything in the second is.
TEST(OverlapOrder, QueuesOfRandomOrders) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<int64_t> times(16);
    std::iota(times.begin(), times.end(), 0);
    std::shuffle(times.begin(), times.end(), random);
    std::vector<CollectiveSpan> spans;
    for (size_t i = 0; i < times.size(); i += 2)
      spans.push_back({3, std::min(times[i], times[i + 1]),
                       std::max(times[i], times[i + 1])});
    const std::vector<bool> second = findSecondQueue(spans);
    for (size_t i = 0; i < spans.size(); ++i)
      EXPECT_EQ(second[i], std::ranges::any_of(spans, [&](const auto &other) {
                  return other.start > spans[i].start &&
                         other.wait < spans[i].wait;
                }));
  }
}

TEST(OverlapOrder, GathersOfParametersRunTwoAhead) {
  // Four layers; each gathers its parameter (step 0 holds them all).
  std::vector<Step> steps = {compute({})};
  int32_t previous = 0;
  for (int i = 0; i < 4; ++i) {
    steps.push_back(collective(0, 1, /*enlarges=*/true));
    steps.push_back(compute({previous, int32_t(steps.size()) - 1}, 5));
    previous = steps.size() - 1;
  }
  EXPECT_THAT(inProgramOrder(steps, {unlimited, 2}),
              ElementsAre(run(0), run(1), run(3), wait(1), run(2), run(5),
                          wait(3), run(4), run(7), wait(5), run(6), wait(7),
                          run(8)));
}

TEST(OverlapOrder, NoStepRunsAwayFromTheFirstOneLeft) {
  // A slow collective whose user comes next, and many steps after it.
  std::vector<Step> steps = {compute({}), collective(0, 1000), compute({1})};
  for (int i = 0; i < 100; ++i)
    steps.push_back(compute({}));
  std::vector<Action> actions = inProgramOrder(steps, {/*window=*/8});
  ASSERT_THAT(checkOrder(steps, actions), IsEmpty());
  int64_t position =
      std::find(actions.begin(), actions.end(), run(2)) - actions.begin();
  EXPECT_EQ(position, 2 + 4 * 8 + 1);

  // Steps that lead to collectives, which makes them urgent, and an early one
  // that does not.
  steps = {compute({})};
  for (int i = 0; i < 100; ++i) {
    steps.push_back(compute({}));
    steps.push_back(collective(steps.size() - 1, 0));
    steps.push_back(compute({int32_t(steps.size()) - 1}));
  }
  actions = inProgramOrder(steps, {/*window=*/8});
  ASSERT_THAT(checkOrder(steps, actions), IsEmpty());
  EXPECT_LE(std::find(actions.begin(), actions.end(), run(0)) - actions.begin(),
            2 * 8);
}

std::vector<Step>
drawSteps(const std::function<int32_t(int32_t, int32_t)> &draw) {
  std::vector<Step> steps;
  int32_t count = draw(1, 40);
  for (int32_t i = 0; i < count; ++i) {
    Step step;
    step.isCollective = i > 0 && draw(0, 2) == 0;
    step.enlarges = step.isCollective && draw(0, 1);
    step.picoseconds = draw(0, 5);
    int32_t operands = step.isCollective ? 1 : draw(0, 3);
    for (int32_t j = 0; j < operands && i > 0; ++j)
      step.operands.push_back(draw(0, i - 1));
    steps.push_back(step);
  }
  return steps;
}

TEST(OverlapOrder, OptionsThatMakeTheSameOrder) {
  std::mt19937 random(5);
  auto draw = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  auto drawOptions = [&] {
    return OverlapOptions{draw(0, 1) ? unlimited : draw(1, 30),
                          draw(0, 1) ? unlimited : draw(1, 4), draw(0, 1) == 0,
                          draw(0, 1) == 0};
  };
  int same = 0, other = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Step> steps = drawSteps(draw);
    for (Step &step : steps)
      step.link = draw(0, 1);
    std::vector<int64_t> priorities(steps.size());
    for (int64_t &priority : priorities)
      priority = draw(-20, 0);
    const OverlapOptions one = drawOptions(), two = drawOptions();
    OverlapExtent extent;
    const std::vector<Action> actions =
        overlapOrder(steps, priorities, one, &extent);
    const bool isSame = overlapOrder(steps, priorities, two) == actions;
    if (makeSameOrder(one, two, extent)) {
      ASSERT_TRUE(isSame) << "round " << round;
      ++same;
    } else {
      other += !isSame;
    }
  }
  EXPECT_GT(same, 1000);
  EXPECT_GT(other, 300);
}

TEST(OverlapOrder, RandomProgramsGiveRightSchedules) {
  std::mt19937 random(7);
  auto draw = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const std::vector<Step> steps = drawSteps(draw);
    OverlapOptions options = {draw(1, 10), draw(1, 3)};
    std::vector<Action> actions = inProgramOrder(steps, options);
    ASSERT_THAT(checkOrder(steps, actions), IsEmpty());
    ASSERT_THAT(checkOrder(steps, programOrder(steps)), IsEmpty());
    ASSERT_THAT(checkOrder(steps, startsFirst(steps)), IsEmpty());
    std::vector<int64_t> positions(steps.size());
    std::iota(positions.rbegin(), positions.rend(), 0);
    ASSERT_THAT(checkOrder(steps, reservedOrder(steps, positions)), IsEmpty());
    const std::vector<Action> listed = overlapOrder(steps, positions),
                              shifted = shiftedOrder(steps, listed);
    ASSERT_THAT(checkOrder(steps, shifted), IsEmpty());
    ASSERT_EQ(shifted, shiftedOrder(steps, listed));
    ASSERT_LE(costOf(steps, shifted).picoseconds,
              costOf(steps, listed).picoseconds);
    ASSERT_EQ(inProgramOrder(steps, options), actions);
  }
}

TEST(OverlapOrder, LevelsOfLinksRunBesideEachOther) {
  std::vector<Step> steps = {compute({}), collective(0, 10), collective(0, 10),
                             compute({1, 2})};
  EXPECT_EQ(costOf(steps, inProgramOrder(steps)).picoseconds, 22);
  steps[2].link = 1;
  EXPECT_EQ(costOf(steps, inProgramOrder(steps)).picoseconds, 12);
}

TEST(ReservedOrder, LinksAreLeftForWhatWillBeReady) {
  // A long gather could start at once, but is needed at the end only.
  std::vector<Step> steps = {compute({}, 0),   collective(0, 10),
                             compute({0}, 2),  collective(2, 3),
                             compute({3}, 20), compute({1, 4})};
  EXPECT_EQ(costOf(steps, inProgramOrder(steps)).picoseconds, 34);
  EXPECT_EQ(costOf(steps, fastestOrder(steps, 1)).picoseconds, 26);
}

TEST(ShiftedOrder, MovesWhatIsInTheWay) {
  // The gather that could start at once is sent before what is needed soon.
  std::vector<Step> steps = {compute({}, 0),   collective(0, 10),
                             compute({0}, 2),  collective(2, 3),
                             compute({3}, 20), compute({1, 4})};
  const std::vector<Action> shifted =
      shiftedOrder(steps, inProgramOrder(steps));
  EXPECT_THAT(checkOrder(steps, shifted), IsEmpty());
  EXPECT_EQ(costOf(steps, shifted).picoseconds, 26);
}

TEST(OrderCost, WhatIsAliveAtOnce) {
  // A result of 4 bytes, a view of it, one of 2 bytes made of the view, and one
  // that is returned.
  std::vector<Step> steps = {compute({}), compute({0}), compute({1}),
                             compute({2})};
  steps[0].bytes = 4;
  steps[1].isView = true;
  steps[2].bytes = 2;
  steps[3].bytes = 3;
  steps[3].isReturned = true;
  EXPECT_EQ(costOf(steps, programOrder(steps)).bytes, 4);
  steps[1].isReturned = true;
  EXPECT_EQ(costOf(steps, programOrder(steps)).bytes, 7);
}

/// Gathers of parameters that are all there: each that runs ahead holds memory.
std::vector<Step> gathers(int32_t layers) {
  std::vector<Step> steps = {compute({}, 0)};
  int32_t previous = 0;
  for (int32_t i = 0; i < layers; ++i) {
    steps.push_back(collective(0, 5, /*enlarges=*/true));
    steps.back().bytes = 8;
    steps.push_back(compute({previous, int32_t(steps.size()) - 1}, 5));
    steps.back().bytes = 1;
    previous = int32_t(steps.size()) - 1;
  }
  return steps;
}

TEST(FastestOrder, HoldsNoMoreThanAllowed) {
  std::vector<Step> steps = gathers(6);
  const OrderCost program = costOf(steps, programOrder(steps));
  const OrderCost held = costOf(steps, fastestOrder(steps, 0));
  const OrderCost free = costOf(steps, fastestOrder(steps, 3));
  EXPECT_EQ(program.picoseconds, 6 * 10);
  EXPECT_LE(held.bytes, program.bytes);
  EXPECT_GT(free.bytes, program.bytes);
  EXPECT_EQ(free.picoseconds, 5 + 6 * 5);
}

TEST(KnownFastestOrder, IsOfTheSameProgramAndMemory) {
  std::vector<Step> steps = gathers(6), longer = steps;
  longer[0].picoseconds = 6;
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(knownFastestOrder(steps, 0), fastestOrder(steps, 0));
    EXPECT_EQ(knownFastestOrder(steps, 3), fastestOrder(steps, 3));
    EXPECT_EQ(knownFastestOrder(steps, 0, 100, 20),
              fastestOrder(steps, 0, 100, 20));
    EXPECT_EQ(knownFastestOrder(longer, 3), fastestOrder(longer, 3));
  }
}

TEST(FastestOrder, IsRightAndNoSlowerThanTheProgram) {
  std::mt19937 random(11);
  auto draw = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<Step> steps;
    for (int32_t i = 0, count = draw(1, 60); i < count; ++i) {
      Step step;
      step.isCollective = i > 0 && draw(0, 2) == 0;
      step.enlarges = step.isCollective && draw(0, 1);
      step.picoseconds = draw(0, 9);
      step.link = draw(0, 1);
      step.bytes = draw(0, 5);
      for (int32_t j = step.isCollective ? 1 : draw(0, 3); j > 0 && i > 0; --j)
        step.operands.push_back(draw(0, i - 1));
      steps.push_back(step);
    }
    const double growth = 0.1 * draw(0, 5);
    const std::vector<Action> actions = fastestOrder(steps, growth);
    ASSERT_THAT(checkOrder(steps, actions), IsEmpty());
    ASSERT_EQ(fastestOrder(steps, growth), actions);
    const OrderCost before = costOf(steps, programOrder(steps));
    const OrderCost after = costOf(steps, actions);
    ASSERT_LE(after.picoseconds, before.picoseconds);
    ASSERT_LE(double(after.bytes), double(before.bytes) * (1 + growth));
  }
}

TEST(OrderCheck, FindsEveryKindOfError) {
  std::vector<Step> steps = {compute({}), collective(0), compute({1})};
  EXPECT_THAT(checkOrder(steps, {run(0), run(1), wait(1), run(2)}), IsEmpty());
  EXPECT_THAT(checkOrder(steps, {run(0), run(1), run(2), wait(1)}),
              ElementsAre("step 2 is done before its operand 1 is there"));
  EXPECT_THAT(checkOrder(steps, {run(0), run(1), run(2)}),
              Contains("step 1 has no wait"));
  EXPECT_THAT(checkOrder(steps, {run(0), run(1), wait(1)}),
              ElementsAre("step 2 is missing"));
  EXPECT_THAT(checkOrder(steps, {run(0), run(0), run(1), wait(1), run(2)}),
              ElementsAre("step 0 is done twice"));
  EXPECT_THAT(checkOrder(steps, {run(0), wait(1), run(1), wait(1), run(2)}),
              Contains("wait for step 1, which is not under way"));
  EXPECT_THAT(checkOrder(steps, {run(0), run(1), wait(1), run(2), run(3)}),
              ElementsAre("unknown step 3"));
}

} // namespace
