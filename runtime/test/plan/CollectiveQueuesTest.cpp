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
#include <random>

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
  /// "model".
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
      entry.start(plan::CollectiveKind::AllReduce, name >= 10, x,
                  entry.temporary(DType::F32, {4}), 1, 4);
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

TEST_F(QueuesTest, WaitsInTheOrderOfStartsNeedOneQueue) {
  entry({0, 1, 0, 2, 1, 2});
  const CollectiveQueues one = queues();
  EXPECT_EQ(one.count(), 1u);
  for (uint32_t id = 0; id < 3; ++id)
    EXPECT_EQ(one.of(0, id), 0u);
  EXPECT_TRUE(one.needs(0, 0));
  EXPECT_FALSE(one.needs(0, 1));
}

/// The group of those that are overtaken has collectives in one queue only, and
/// needs no second communicator.
TEST_F(QueuesTest, OvertakenCollectivesAreInAQueueOfTheirOwn) {
  entry({0, 10, 10, 1, 11, 11, 0, 1});
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

/// One that begins beside the last iteration of a loop is overtaken by those
/// of the rest of it.
TEST_F(QueuesTest, CollectivesOfALoopOvertakeThoseThatBeginInIt) {
  EntryBuilder entry = builder.entry("e");
  const auto floats = builder.type(DType::F32, {4});
  const uint32_t x = entry.input("x", floats), y = entry.output("y", floats);
  entry.copy(x, y);
  entry.repeat(2, 3);
  entry.launch("twice", {{y, update}});
  entry.start(plan::CollectiveKind::AllReduce, 1, x,
              entry.temporary(DType::F32, {4}), 1, 4);
  entry.wait(0);
  auto &start = entry.start(plan::CollectiveKind::AllReduce, 0, y, y, 1, 4);
  entry.wait(1);
  EXPECT_EQ(queues().count(), 1u);
  start.behind = 2;
  const CollectiveQueues two = queues();
  EXPECT_EQ(two.count(), 2u);
  EXPECT_EQ(two.of(0, 0), 0u);
  EXPECT_EQ(two.of(0, 1), 1u);
}

TEST_F(QueuesTest, AGroupThatIsAlwaysOvertakenHasOneCommunicator) {
  entry({0, 10, 10, 0});
  const CollectiveQueues two = queues();
  EXPECT_FALSE(two.needs(0, 0));
  EXPECT_TRUE(two.needs(0, 1));
}

TEST_F(QueuesTest, SerializedThereIsOneQueue) {
  entry({0, 10, 10, 0});
  const CollectiveQueues one = queues(/*serialize=*/true);
  EXPECT_EQ(one.count(), 1u);
  EXPECT_EQ(one.of(0, 0), 0u);
  EXPECT_TRUE(one.needs(0, 0));
  EXPECT_FALSE(one.needs(0, 1));
}

/// Whatever the order: nothing in queue 0 is overtaken by anything, and
/// everything in queue 1 is.
TEST_F(QueuesTest, RandomOrders) {
  std::mt19937 random(7);
  std::vector<std::vector<uint32_t>> orders;
  for (int round = 0; round < 50; ++round) {
    std::vector<uint32_t> order;
    for (uint32_t id = 0; id < 8; ++id)
      order.insert(order.end(), {id, id});
    std::shuffle(order.begin(), order.end(), random);
    // Numbers are those of the starts, in order.
    std::vector<uint32_t> names;
    for (uint32_t &name : order) {
      auto found = std::ranges::find(names, name);
      if (found == names.end())
        found = names.insert(names.end(), name);
      name = static_cast<uint32_t>(found - names.begin());
    }
    entry(orders.emplace_back(order));
  }
  const CollectiveQueues queues = this->queues();
  for (size_t i = 0; i < orders.size(); ++i) {
    const auto wait = [&](uint32_t id) {
      return std::find(orders[i].rbegin(), orders[i].rend(), id).base();
    };
    for (uint32_t id = 0; id < 8; ++id) {
      bool isOvertaken = false;
      for (uint32_t later = id + 1; later < 8; ++later)
        isOvertaken |= wait(later) < wait(id);
      EXPECT_EQ(queues.of(i, id), isOvertaken) << "entry " << i << " id " << id;
    }
  }
}

} // namespace
} // namespace weft::runtime
