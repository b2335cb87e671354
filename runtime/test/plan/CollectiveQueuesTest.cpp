//===- CollectiveQueuesTest.cpp - Which collectives run side by side -*- C++
//-*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/CollectiveQueues.h"
#include "PlanBuilder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace weft::runtime {
namespace {

/// A plan with groups "data" and "model", whose entries start collectives and
/// wait for them.
struct QueuesTest : testing::Test {
  QueuesTest() {
    builder.group({"data"});
    builder.group({"model"});
  }

  /// `order` has the number of a collective twice: at its start, the first time
  /// in ascending order, and at its wait. Numbers from 10 on are of the group
  /// "model", odd ones in the second queue.
  void entry(const std::vector<uint32_t> &order) {
    EntryBuilder entry = builder.entry("e" + std::to_string(entries++));
    const uint32_t x = entry.input("x", builder.type(DType::F32, {4}));
    std::vector<uint32_t> names;
    for (uint32_t name : order) {
      const auto found = std::ranges::find(names, name);
      if (found != names.end()) {
        entry.wait(static_cast<uint32_t>(found - names.begin()));
        continue;
      }
      names.push_back(name);
      entry
          .start(plan::CollectiveKind::AllReduce, name >= 10, x,
                 entry.temporary(DType::F32, {4}), 1, 4)
          .queue = name % 2;
    }
  }
  CollectiveQueues queues(bool serialize = false) {
    plan.emplace(builder.build());
    return CollectiveQueues(plan->contents(), serialize);
  }

  PlanBuilder builder{{{"data", 2}, {"model", 2}}};
  std::optional<Plan> plan;
  int entries = 0;
};

TEST_F(QueuesTest, OneQueueIsEnoughForMost) {
  entry({0, 2, 0, 4, 2, 4});
  const CollectiveQueues one = queues();
  EXPECT_EQ(one.count(), 1u);
  for (uint32_t id = 0; id < 3; ++id)
    EXPECT_EQ(one.of(0, id), 0u);
  EXPECT_TRUE(one.needs(0, 0));
  EXPECT_FALSE(one.needs(0, 1));
}

/// The group "model" has collectives in one queue only, and needs no second
/// communicator.
TEST_F(QueuesTest, CollectivesAreInTheQueueThatThePlanSays) {
  entry({1, 10, 10, 3, 12, 12, 1, 3});
  entry({0, 0});
  const CollectiveQueues two = queues();
  EXPECT_EQ(two.count(), 2u);
  EXPECT_EQ(two.of(0, 0), 1u);
  EXPECT_EQ(two.of(0, 1), 0u);
  EXPECT_EQ(two.of(0, 2), 1u);
  EXPECT_EQ(two.of(0, 3), 0u);
  EXPECT_EQ(two.of(1, 0), 0u);
  EXPECT_TRUE(two.needs(0, 0)); // of the second entry
  EXPECT_TRUE(two.needs(0, 1));
  EXPECT_TRUE(two.needs(1, 0));
  EXPECT_FALSE(two.needs(1, 1));
}

TEST_F(QueuesTest, AGroupOfTheSecondQueueHasOneCommunicator) {
  entry({1, 10, 10, 1});
  const CollectiveQueues two = queues();
  EXPECT_FALSE(two.needs(0, 0));
  EXPECT_TRUE(two.needs(0, 1));
}

TEST_F(QueuesTest, SerializedThereIsOneQueue) {
  entry({1, 10, 10, 1});
  const CollectiveQueues one = queues(/*serialize=*/true);
  EXPECT_EQ(one.count(), 1u);
  EXPECT_EQ(one.of(0, 0), 0u);
  EXPECT_TRUE(one.needs(0, 0));
  EXPECT_FALSE(one.needs(0, 1));
}

} // namespace
} // namespace weft::runtime
