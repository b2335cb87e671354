//===- StepOrderTest.cpp - Loops unrolled, and what begins in them --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "plan/StepOrder.h"

#include <gmock/gmock.h>

namespace weft::runtime {
namespace {

using testing::ElementsAre;

TEST(StepOrder, BesideTheLastIteration) {
  StepOrder order;
  order.add(0);
  order.open(/*count=*/2, /*end=*/4);
  order.add(1);
  order.add(2);
  order.close(4);
  EXPECT_THAT(order.steps(), ElementsAre(0, 1, 2, 1, 2));
  order.addBehind(1, 3);
  EXPECT_THAT(order.steps(), ElementsAre(0, 1, 2, 1, 3, 2));
  // In the order in which they come.
  order.addBehind(1, 4);
  order.add(5);
  order.addBehind(2, 6);
  EXPECT_THAT(order.steps(), ElementsAre(0, 1, 2, 1, 3, 4, 2, 6, 5));
}

TEST(StepOrder, StepsOfAnInstruction) {
  struct Step {
    uint32_t instruction;
  };
  const std::vector<Step> steps = {{0}, {2}, {2}, {5}};
  EXPECT_EQ(lastStepOf(steps, 2), 2u);
  EXPECT_EQ(lastStepOf(steps, 5), 3u);
  EXPECT_EQ(lastStepOf(steps, 3), std::nullopt);
}

} // namespace
} // namespace weft::runtime
