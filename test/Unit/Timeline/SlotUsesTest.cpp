//===- SlotUsesTest.cpp - Memory of micro-batches in flight ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executor.h"
#include "Tables.h"

#include "weft/Timeline/SlotUses.h"
#include "weft/Timeline/Transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

using namespace weft::timeline;
using testing::ElementsAre;

namespace {

Job jobWithSlots(const Table &table, const SlotPlan &slots,
                 Communicators communicators) {
  Job job = makeJob(table, communicators);
  job.slotUses = slots.uses;
  job.waits = waitsForSlots(table, slots.uses);
  return job;
}

} // namespace

TEST(SlotUsesTest, LowestFreeSlotFirst) {
  const SlotPlan slots = planSlots(
      tableOf("0F0,0F1,0I0,0F2,0W0,0F3,0I1,0W1,0I2,0W2,0I3,0W3\n"), false);
  EXPECT_THAT(slots.slotOf, ElementsAre(ElementsAre(0, 1, 2, 0)));
  EXPECT_THAT(slots.counts, ElementsAre(3));
}

TEST(SlotUsesTest, StagesMayShare) {
  const Table table = tableOf("0F0,1F0,1B0,0B0,0F1,1F1,1B1,0B1\n");
  EXPECT_THAT(planSlots(table, false).slotOf,
              ElementsAre(ElementsAre(0, 0), ElementsAre(1, 1)));
  const Table apart = tableOf("0F0,0B0,1F1,1B1\n");
  EXPECT_THAT(planSlots(apart, true).counts, ElementsAre(1));
  EXPECT_THAT(planSlots(apart, false).counts, ElementsAre(2));
}

TEST(SlotUsesTest, PairsKeepBothSlots) {
  // The gradient of micro-batch 0 is computed while micro-batch 1 fills its
  // own slot.
  const Table table = tableOf("0F0,(0F1;0B0)OVERLAP_F_B,0F2,0B1,0B2\n");
  EXPECT_THAT(planSlots(table, false).slotOf,
              ElementsAre(ElementsAre(0, 1, 0)));
}

static Table transferred(std::string_view name, Receives receives) {
  const NamedSchedule *schedule = findSchedule(name);
  const Placement placement =
      placementOf(schedule->fold, 4, schedule->defaultChunks);
  return addTransfers(generate(name, {.ranks = 4, .microbatches = 16}).table,
                      placement, neighbourEdges(int32_t(placement.size())),
                      receives)
      .table;
}

TEST(SlotUsesTest, PlansOfSchedulesAreProved) {
  const auto expectProof = [](const Table &table, bool shared,
                              Communicators communicators) {
    Job job = jobWithSlots(table, planSlots(table, shared), communicators);
    const Verdict verdict = check(job);
    EXPECT_TRUE(verdict.has(Condition::C8)) << print(verdict, "");
    if (job.waits.empty())
      return;
    // Nothing else keeps a receive from writing too early.
    job.waits.clear();
    EXPECT_FALSE(check(job).isSafe());
  };
  for (const char *name : {"gpipe", "1f1b", "interleaved-1f1b",
                           "interleaved-zb", "zb-h1", "zb-v", "dualpipev"})
    for (bool shared : {false, true}) {
      SCOPED_TRACE(name);
      const Table withSend = transferred(name, Receives::WithSend);
      expectProof(withSend, shared, Communicators::DirectedPair);
      expectProof(withSend, shared, Communicators::Edge);
      expectProof(transferred(name, Receives::BeforeUse), shared,
                  Communicators::Edge);
    }
}

// A receive that waits for its slot holds up the queue that it shares with
// another edge, and with it what would free the slot. Without the slots this
// table is safe.
TEST(SlotUsesTest, ReusedSlotsCanDeadlock) {
  const Table table = transferred("dualpipev", Receives::BeforeUse);
  Job job = jobWithSlots(table, planSlots(table, /*shared=*/false),
                         Communicators::DirectedPair);
  const Verdict verdict = check(job);
  ASSERT_FALSE(verdict.isSafe());
  EXPECT_EQ(verdict.problems.front().condition, Condition::C2);
  job.waits.clear();
  job.slotUses.clear();
  EXPECT_TRUE(check(job).isSafe());
}

// A slot too few or a wait too few: what is rejected shows in one of many runs,
// and what is accepted in none.
TEST(SlotUsesTest, DamagedPlansAreRun) {
  std::mt19937 random(15);
  int accepted = 0, rejected = 0;
  for (const char *name : {"1f1b", "interleaved-1f1b", "zb-v", "dualpipev"})
    for (int i = 0; i < 60; ++i) {
      const NamedSchedule *schedule = findSchedule(name);
      const Placement placement =
          placementOf(schedule->fold, 2, schedule->defaultChunks);
      const Table table =
          addTransfers(tableOf(name, {.ranks = 2, .microbatches = 4}),
                       placement, neighbourEdges(int32_t(placement.size())),
                       i % 2 ? Receives::WithSend : Receives::BeforeUse)
              .table;
      Job job = jobWithSlots(table, planSlots(table, i % 3 == 0),
                             i % 5 < 3 ? Communicators::DirectedPair
                                       : Communicators::Edge);
      if (!job.waits.empty() && random() % 4) {
        job.waits.erase(job.waits.begin() +
                        ptrdiff_t(random() % job.waits.size()));
      } else {
        SlotUse &use = job.slotUses[random() % job.slotUses.size()];
        use.slot = job.slotUses[random() % job.slotUses.size()].slot;
      }
      const Verdict verdict = check(job);
      std::string failure;
      const unsigned runs = verdict.isSafe() ? 50 : 400;
      for (unsigned seed = 0; seed < runs && failure.empty(); ++seed)
        failure = execute(job, {}, seed).failure;
      EXPECT_EQ(failure.empty(), verdict.isSafe())
          << name << " " << i << ": " << failure << "\n"
          << print(verdict, "t.csv");
      ++(verdict.isSafe() ? accepted : rejected);
    }
  EXPECT_GT(accepted, 20);
  EXPECT_GT(rejected, 60);
}

TEST(SlotUsesTest, OneSlotTooFewIsFound) {
  // Micro-batch 1 overwrites what micro-batch 0 still needs for its gradient.
  Job job = makeJob(tableOf("0F0,0F1,0B0,0B1\n"), Communicators::One);
  job.slotUses = {{0, 0, {0, 2}}, {0, 0, {1, 3}}};
  EXPECT_EQ(print(check(job), "t.csv"),
            "t.csv:1:2: C8: 0F1 writes slot 0, which may still be in use by "
            "0B0 at 1:3\n");
  job.slotUses[1].slot = 1;
  EXPECT_THAT(
      print(check(job), "t.csv"),
      testing::HasSubstr("C8      no slot is written while it is in use"));
}

TEST(SlotUsesTest, ReceivesMayComeTooEarly) {
  const Table table = tableOf("0F0,0SEND_F0,0F1,0SEND_F1\n"
                              "1RECV_F0,1F0,1RECV_F1,1F1\n");
  Job job = makeJob(table, Communicators::DirectedPair);
  job.slotUses = {{1, 0, {0, 1}}, {1, 0, {2, 3}}};
  EXPECT_EQ(print(check(job), "t.csv"),
            "t.csv:2:3: C8: 1RECV_F1 writes slot 0, which may still be in use "
            "by 1F0 at 2:2\n");
  job.waits = {{1, 2, 1}};
  EXPECT_TRUE(check(job).has(Condition::C8));
}

TEST(SlotUsesTest, SendsKeepTheirSlot) {
  const Table table = tableOf("0F0,0SEND_F0,0F1,0SEND_F1\n"
                              "1RECV_F0,1F0,1RECV_F1,1F1\n");
  Job job = makeJob(table, Communicators::DirectedPair);
  job.slotUses = {{0, 0, {0, 1}}, {0, 0, {2, 3}}};
  EXPECT_EQ(print(check(job), "t.csv"),
            "t.csv:1:3: C8: 0F1 writes slot 0, which may still be in use by "
            "0SEND_F0 at 1:2\n");
  job.waits = {{0, 2, 1}};
  EXPECT_TRUE(check(job).has(Condition::C8));
}

// That a message has arrived, and that an answer to it has, is no proof that
// the call that sent it has ended.
TEST(SlotUsesTest, AnAnswerDoesNotEndASend) {
  const Table table = tableOf("0F0,0SEND_F0,0RECV_B0,0B0,0F1,0SEND_F1,0RECV_B1,"
                              "0B1\n"
                              "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,"
                              "1SEND_B1\n");
  Job job = makeJob(table, Communicators::DirectedPair);
  job.slotUses = {{0, 0, {0, 1, 3}}, {0, 0, {4, 5, 7}}};
  EXPECT_FALSE(check(job).isSafe());
  // On one queue the receive follows the send, and the computation the receive.
  job = makeJob(table, Communicators::One);
  job.slotUses = {{0, 0, {0, 1, 3}}, {0, 0, {4, 5, 7}}};
  EXPECT_TRUE(check(job).has(Condition::C8));
}

TEST(SlotUsesTest, UsesNameWhatIsThere) {
  const char *text = "t.csv:1: C8: a use of slot 5 must name actions of one "
                     "row in order, a write first\n";
  Job job =
      makeJob(tableOf("0F0,0SEND_F0\n1RECV_F0,1F0\n"), Communicators::One);
  job.slotUses = {{0, 5, {0, 2}}};
  EXPECT_EQ(print(check(job), "t.csv"), text);
  job.slotUses = {{0, 5, {1}}};
  EXPECT_EQ(print(check(job), "t.csv"), text);
  job.slotUses = {{0, 5, {1, 0}}};
  EXPECT_EQ(print(check(job), "t.csv"), text);
}
