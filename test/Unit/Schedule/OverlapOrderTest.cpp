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
#include <random>

using namespace weft;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

Step compute(std::initializer_list<int32_t> operands, double seconds = 1) {
  return {operands, false, false, seconds};
}
Step collective(int32_t operand, double seconds = 1, bool enlarges = false) {
  return {{operand}, true, enlarges, seconds};
}
Action run(int32_t step) { return {step, false}; }
Action wait(int32_t step) { return {step, true}; }

TEST(OverlapOrder, WeightGradientRunsBesideTheAllReduceOfTheInputGradient) {
  // dy; dw = f(dy); dx = g(dy); r = all_reduce(dx); use(r)
  std::vector<Step> steps = {compute({}), compute({0}), compute({0}),
                             collective(2), compute({3})};
  EXPECT_THAT(overlapOrder(steps),
              ElementsAre(run(0), run(2), run(3), run(1), wait(3), run(4)));
  EXPECT_THAT(programOrder(steps),
              ElementsAre(run(0), run(1), run(2), run(3), wait(3), run(4)));
}

TEST(OverlapOrder, WaitsAtTheFirstUseOnly) {
  // A gradient that is used by the update at the end.
  std::vector<Step> steps = {compute({}), collective(0, 10), compute({0}),
                             compute({2}), compute({1, 3})};
  EXPECT_THAT(overlapOrder(steps),
              ElementsAre(run(0), run(1), run(2), run(3), wait(1), run(4)));
}

TEST(OverlapOrder, ResultsOfTheProgramAreWaitedForAtTheEnd) {
  std::vector<Step> steps = {compute({}), collective(0), compute({0})};
  EXPECT_THAT(overlapOrder(steps),
              ElementsAre(run(0), run(1), run(2), wait(1)));
}

TEST(OverlapOrder, CollectiveOfACollective) {
  std::vector<Step> steps = {compute({}), collective(0), collective(1),
                             compute({2, 0})};
  EXPECT_THAT(overlapOrder(steps),
              ElementsAre(run(0), run(1), wait(1), run(2), wait(2), run(3)));
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
  EXPECT_THAT(overlapOrder(steps),
              ElementsAre(run(0), run(1), run(3), wait(1), run(2), run(5),
                          wait(3), run(4), run(7), wait(5), run(6), wait(7),
                          run(8)));
}

TEST(OverlapOrder, NoStepRunsAwayFromTheFirstOneLeft) {
  // A slow collective whose user comes next, and many steps after it.
  std::vector<Step> steps = {compute({}), collective(0, 1000), compute({1})};
  for (int i = 0; i < 100; ++i)
    steps.push_back(compute({}));
  std::vector<Action> actions = overlapOrder(steps, {/*window=*/8});
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
  actions = overlapOrder(steps, {/*window=*/8});
  ASSERT_THAT(checkOrder(steps, actions), IsEmpty());
  EXPECT_LE(std::find(actions.begin(), actions.end(), run(0)) - actions.begin(),
            2 * 8);
}

TEST(OverlapOrder, RandomProgramsGiveRightSchedules) {
  std::mt19937 random(7);
  auto draw = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<Step> steps;
    int32_t count = draw(1, 40);
    for (int32_t i = 0; i < count; ++i) {
      Step step;
      step.isCollective = i > 0 && draw(0, 2) == 0;
      step.enlarges = step.isCollective && draw(0, 1);
      step.seconds = draw(0, 5);
      int32_t operands = step.isCollective ? 1 : draw(0, 3);
      for (int32_t j = 0; j < operands && i > 0; ++j)
        step.operands.push_back(draw(0, i - 1));
      steps.push_back(step);
    }
    OverlapOptions options = {draw(1, 10), draw(1, 3)};
    std::vector<Action> actions = overlapOrder(steps, options);
    ASSERT_THAT(checkOrder(steps, actions), IsEmpty());
    ASSERT_THAT(checkOrder(steps, programOrder(steps)), IsEmpty());
    ASSERT_EQ(overlapOrder(steps, options), actions);
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
