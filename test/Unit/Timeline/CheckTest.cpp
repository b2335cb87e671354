//===- CheckTest.cpp - Whether a timeline can deadlock or mix up data -----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Timeline/Check.h"

#include "weft/Timeline/Transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft::timeline;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace {

constexpr const char *twoRanks =
    "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
    "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n";

Job jobOf(std::string_view text,
          Communicators communicators = Communicators::DirectedPair,
          std::optional<std::vector<Edge>> edges = {}) {
  const ParsedTable parsed = parseCsv(text, "t.csv");
  EXPECT_THAT(parsed.errors, IsEmpty());
  return makeJob(parsed.table, communicators, std::move(edges));
}

std::string verdictOf(const Job &job) { return print(check(job), "t.csv"); }

std::string
verdictOf(std::string_view text,
          Communicators communicators = Communicators::DirectedPair) {
  return verdictOf(jobOf(text, communicators));
}

} // namespace

TEST(CheckTest, CertificateSaysWhatIsProved) {
  EXPECT_EQ(verdictOf(twoRanks),
            "safe: 16 actions, 2 stages, 2 micro-batches, 4 messages over 2 "
            "edges, 4 queues\n"
            "  order   every computation once, behind its inputs\n"
            "  C1      the k-th send to a rank is the k-th receive there\n"
            "  C2      no deadlock if all queues of a rank can run at once\n"
            "  C3      no deadlock even if a rank runs one call at a time\n"
            "  C9      every stage sums gradients in the same order\n");
}

TEST(CheckTest, ForwardPassesAloneAreATimeline) {
  const Verdict verdict =
      check(jobOf("0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F0,1F0,1RECV_F1,1F1\n"));
  EXPECT_TRUE(verdict.isSafe());
  EXPECT_EQ(verdict.messages, 2);
}

// Rank 1 receives the second micro-batch only behind its first gradient, which
// rank 0 receives behind its second send: safe on queues of their own.
TEST(CheckTest, ReceivesBeforeTheirUseNeedTwoQueues) {
  const char *table = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";
  EXPECT_EQ(
      verdictOf(table, Communicators::One),
      "t.csv:1:4: C2: 0SEND_F1 waits for itself, in a cycle of 4 calls\n"
      "  rank 0, queue all ranks: 0SEND_F1 (1:4) waits for 1RECV_F1 (2:5) on "
      "rank 1\n"
      "  rank 1, queue all ranks: 1RECV_F1 (2:5) is queued behind 1SEND_B0 "
      "(2:4)\n"
      "  rank 1, queue all ranks: 1SEND_B0 (2:4) waits for 0RECV_B0 (1:5) on "
      "rank 0\n"
      "  rank 0, queue all ranks: 0RECV_B0 (1:5) is queued behind 0SEND_F1 "
      "(1:4)\n");
  EXPECT_EQ(verdictOf(table),
            "safe: 16 actions, 2 stages, 2 micro-batches, 4 messages over 2 "
            "edges, 4 queues\n"
            "  order   every computation once, behind its inputs\n"
            "  C1      the k-th send to a rank is the k-th receive there\n"
            "  C2      no deadlock if all queues of a rank can run at once\n"
            "  C9      every stage sums gradients in the same order\n"
            "C3 does not hold; these calls would block each other:\n"
            "  rank 0 is in 0SEND_F1 (1:4), rank 1 in 1SEND_B0 (2:4)\n"
            "  rank 1 is in 1SEND_B0 (2:4), rank 0 in 0SEND_F1 (1:4)\n");
}

// A hang reported of PyTorch: these rows are a part of those of two ranks with
// two stages each.
TEST(CheckTest, PublishedDeadlockIsFound) {
  const char *table =
      "0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2RECV_F1,2F0,2SEND_F0,2F1,2SEND_F1,"
      "0F2,0SEND_F2,2RECV_B0,2B0,2SEND_B0,2RECV_B1,2B1,2SEND_B1,2RECV_F2,2F2,"
      "2SEND_F2,0RECV_B0,0B0,0RECV_B1,0B1,2RECV_B2,2B2,2SEND_B2,0RECV_B2,0B2\n"
      "1RECV_F0,1RECV_F1,1F0,1SEND_F0,1F1,1SEND_F1,3RECV_F0,3F0,3B0,3RECV_F1,"
      "3SEND_B0,3F1,3B1,1RECV_F2,3SEND_B1,1F2,1SEND_F2,1RECV_B0,1B0,1SEND_B0,"
      "1RECV_B1,1B1,1SEND_B1,3RECV_F2,3F2,3B2,3SEND_B2,1RECV_B2,1B2,1SEND_B2\n";
  const std::string verdict = verdictOf(table, Communicators::One);
  EXPECT_THAT(verdict, HasSubstr("C2: 0SEND_F2 waits for itself"));
  EXPECT_THAT(verdict, HasSubstr("0SEND_F2 (1:12) waits for 1RECV_F2 (2:14)"));
  EXPECT_THAT(verdict,
              HasSubstr("1RECV_F2 (2:14) is queued behind 3SEND_B0 (2:11)"));
  EXPECT_THAT(verdict,
              HasSubstr("2RECV_B0 (1:13) is queued behind 0SEND_F2 (1:12)"));
  EXPECT_THAT(verdictOf(table, Communicators::RankPair),
              HasSubstr("queue ranks 0-1: 0SEND_F2 (1:12) waits"));
  EXPECT_TRUE(check(jobOf(table)).isSafe());
  EXPECT_TRUE(check(jobOf(table, Communicators::Edge)).isSafe());
}

TEST(CheckTest, CyclesNameLinesOfTheModel) {
  Job job = jobOf("0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                  "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
                  Communicators::One);
  job.lineOf = [](const Action &action) {
    return action.stage == 0 ? "model.py:12" : "";
  };
  EXPECT_THAT(
      print(check(job), "t.csv"),
      HasSubstr(
          "  rank 0, queue all ranks: 0SEND_F1 (1:4, model.py:12) waits for "
          "1RECV_F1 (2:5) on rank 1\n"));
}

TEST(CheckTest, CyclesThroughComputationAreFound) {
  // Rank 0 sends what it computes behind what it receives from rank 1, and the
  // other way around.
  EXPECT_EQ(
      verdictOf("0F0,0SEND_F0,2RECV_F0,2F0,2SEND_F0,2RECV_F1,2F1,2SEND_F1,0F1,"
                "0SEND_F1\n"
                "1RECV_F0,1F0,1SEND_F0,3RECV_F0,3F0,1RECV_F1,1F1,1SEND_F1,"
                "3RECV_F1,3F1\n",
                Communicators::Edge),
      "t.csv:1:10: C2: 0SEND_F1 waits for itself, in a cycle of 7 calls\n"
      "  rank 0, queue stages 0->1: 0SEND_F1 (1:10) sends the result of 0F1 "
      "(1:9)\n"
      "  rank 0, compute: 0F1 (1:9) is behind 2F1 (1:7)\n"
      "  rank 0, compute: 2F1 (1:7) needs 2RECV_F1 (1:6)\n"
      "  rank 0, queue stages 1->2: 2RECV_F1 (1:6) waits for 1SEND_F1 (2:8) on "
      "rank 1\n"
      "  rank 1, queue stages 1->2: 1SEND_F1 (2:8) sends the result of 1F1 "
      "(2:7)\n"
      "  rank 1, compute: 1F1 (2:7) needs 1RECV_F1 (2:6)\n"
      "  rank 1, queue stages 0->1: 1RECV_F1 (2:6) waits for 0SEND_F1 (1:10) "
      "on "
      "rank 0\n");
}

TEST(CheckTest, ComputationIsComplete) {
  EXPECT_EQ(verdictOf("0F0,0F1,0B0\n"),
            "t.csv:1: order: 0I1 or 0B1 is missing\n"
            "t.csv:1: order: 0W1 or 0B1 is missing\n");
  EXPECT_EQ(verdictOf("0F0,0I0\n"), "t.csv:1: order: 0W0 or 0B0 is missing\n");
  EXPECT_EQ(verdictOf("0F1,0B1,0B0\n"), "t.csv:1: order: 0F0 is missing\n");
  EXPECT_EQ(verdictOf("0F0,0B0,0W0,0F0\n"),
            "t.csv:1:3: order: 0W0 repeats 0B0 at 1:2\n"
            "t.csv:1:4: order: 0F0 repeats 0F0 at 1:1\n");
  EXPECT_EQ(
      verdictOf("0F0,0B0\n0F0\n"),
      "t.csv:2:1: order: 0F0 belongs on rank 0, which computes stage 0\n");
  EXPECT_EQ(verdictOf("1000000F1000000\n"),
            "t.csv: order: 1000001 stages and 1000001 micro-batches need "
            "1000002000001 forwards; actions in all: 1\n");
  EXPECT_EQ(verdictOf("2147483646UNSHARD\n"),
            "t.csv: order: 2147483647 stages and 0 micro-batches need "
            "2147483647 forwards; actions in all: 1\n");
}

TEST(CheckTest, InputsComeFirst) {
  EXPECT_EQ(verdictOf("0F0,0W0,0I0\n"),
            "t.csv:1:2: order: 0W0 needs 0I0 at 1:3, which does not end before "
            "it\n");
  EXPECT_EQ(verdictOf("0F0,1F0,0B0,1B0\n"),
            "t.csv:1:3: order: 0B0 needs 1B0 at 1:4, which does not end before "
            "it\n");
  EXPECT_EQ(verdictOf("0SEND_F0,0F0\n1F0,1RECV_F0\n"),
            "t.csv:1:1: order: 0SEND_F0 needs 0F0 at 1:2, which does not end "
            "before it\n"
            "t.csv:2:1: order: 1F0 needs 1RECV_F0 at 2:2, which does not end "
            "before it\n");
  // The two of a pair run at the same time.
  EXPECT_EQ(verdictOf("(0F0;0B0)OVERLAP_F_B\n"),
            "t.csv:1:2: order: 0B0 needs 0F0 at 1:1, which does not end before "
            "it\n");
}

TEST(CheckTest, PairsAreOfTwoComputations) {
  Job job = jobOf(twoRanks);
  job.rows[0][0].action.overlapsNext = true;
  EXPECT_EQ(verdictOf(job), "t.csv:1:1: order: 0F0 has no computation to run "
                            "together with\n");
}

TEST(CheckTest, TransfersFollowTheEdges) {
  EXPECT_EQ(verdictOf("0F0\n1RECV_F0,1F0\n"),
            "t.csv:1: C1: 0SEND_F0 is missing\n");
  EXPECT_EQ(verdictOf("0F0,0SEND_F0\n1F0\n"),
            "t.csv:2: C1: 1RECV_F0 is missing\n");
  EXPECT_EQ(verdictOf("0F0,0SEND_F0,1RECV_F0,1F0\n"),
            "t.csv:1:2: order: 0SEND_F0 is unexpected: stage 0 to 1 are on "
            "the same rank\n"
            "t.csv:1:3: order: 1RECV_F0 is unexpected: stage 0 to 1 are on "
            "the same rank\n");
  EXPECT_EQ(verdictOf("0F0,0SEND_F0,0SEND_F0>2\n1RECV_F0,1F0,1SEND_F0\n"
                      "2RECV_F0,2F0\n"),
            "t.csv:1:3: order: 0SEND_F0>2 is unexpected: stage 0 to 2 exchange "
            "nothing\n");
  EXPECT_EQ(verdictOf("0F0\n0SEND_F0,1RECV_F0,1F0\n"),
            "t.csv:2:1: order: 0SEND_F0 belongs on rank 0, which computes "
            "stage 0\n"
            "t.csv:1: C1: 0SEND_F0 is missing\n");
}

TEST(CheckTest, EdgesAreBetweenStages) {
  Job job = jobOf("0F0,0B0\n");
  job.edges = {{-1, 0}};
  EXPECT_EQ(verdictOf(job),
            "t.csv: order: an edge must have a source and a destination\n");
  std::string text = "0F0";
  for (int i = 1; i < 50000; ++i)
    text += ",0F" + std::to_string(i);
  job = jobOf(text + "\n");
  job.edges.assign(50000, Edge());
  EXPECT_EQ(verdictOf(job), "t.csv: order: 50000 edges and 50000 micro-batches "
                            "are too many\n");
}

TEST(CheckTest, SkipConnectionsAreChecked) {
  std::vector<Edge> edges = neighbourEdges(3, 64);
  edges.push_back({0, 2, false, 16});
  edges.push_back({2, 0, true, 16});
  const ParsedTable parsed =
      parseCsv("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n2F0,2B0,2F1,2B1\n", "t.csv");
  const TransferredTable table =
      addTransfers(parsed.table, {0, 1, 2}, edges, Receives::WithSend);
  const Job job = makeJob(table.table, Communicators::DirectedPair, edges);
  EXPECT_TRUE(check(job).isSafe());
  EXPECT_EQ(check(job).messages, 12);
  // Without the connection these transfers have no reason.
  EXPECT_FALSE(
      check(makeJob(table.table, Communicators::DirectedPair)).isSafe());
  // And without these transfers the connection has none.
  EXPECT_THAT(
      verdictOf(makeJob(addTransfers(parsed.table, {0, 1, 2}, neighbourEdges(3),
                                     Receives::WithSend)
                            .table,
                        Communicators::DirectedPair, edges)),
      HasSubstr("0SEND_F0>2 is missing"));
}

TEST(CheckTest, BothEndsSayTheSame) {
  Job job = jobOf(twoRanks);
  job.rows[1][0].bytes = 8;
  job.rows[1][1].elementType = 2;
  EXPECT_EQ(verdictOf(job),
            "t.csv:2:1: C1: 1RECV_F0 and 0SEND_F0 at 1:2 differ in bytes: 8 "
            "and 0\n"
            "t.csv:2:2: C1: 1RECV_F1 and 0SEND_F1 at 1:4 differ in element "
            "type: 2 and 0\n");
  job = jobOf(twoRanks);
  job.communicators.push_back("others");
  job.rows[0][1].communicator = int32_t(job.communicators.size()) - 1;
  EXPECT_EQ(verdictOf(job),
            "t.csv:2:1: C1: 1RECV_F0 and 0SEND_F0 at 1:2 differ in "
            "communicator: ranks 0->1 and others\n");
  job = jobOf(twoRanks, Communicators::One, neighbourEdges(2, 64));
  job.rows[0][1].bytes = job.rows[1][0].bytes = 32;
  EXPECT_EQ(verdictOf(job), "t.csv:1:2: C1: 0SEND_F0 sends 32 bytes, the edge "
                            "carries 64\n");
  job = jobOf(twoRanks);
  job.rows[0][1].peerRank = 0;
  EXPECT_EQ(verdictOf(job), "t.csv:1:2: C1: 0SEND_F0 names rank 0, but stage 1 "
                            "is on rank 1\n"
                            "t.csv:1: C1: 0SEND_F0 is missing\n");
  job = jobOf(twoRanks);
  job.rows[0][1].communicator = 7;
  EXPECT_EQ(verdictOf(job), "t.csv:1:2: order: 0SEND_F0 lacks a stage, "
                            "micro-batch or communicator\n");
}

// Nothing would hang: each receive gets a message, but the wrong one.
TEST(CheckTest, OrderOfReceivesIsThatOfSends) {
  EXPECT_EQ(verdictOf("0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F1,1RECV_F0,1F0,1F1\n"),
            "t.csv:2:1: C1: 1RECV_F1 meets 0SEND_F0 at 1:2: transfer 1 from "
            "rank 0 to rank 1 on communicator ranks 0->1\n");
}

TEST(CheckTest, GradientsAreSummedInOrder) {
  const char *descending = "0F0,0F1,0B1,0B0\n";
  EXPECT_EQ(verdictOf(descending), "t.csv:1:3: C9: 0B1 adds to the gradient "
                                   "before 0B0 at 1:4\n");
  Job job = jobOf(descending);
  job.gradientOrder = {1, 0};
  EXPECT_TRUE(check(job).isSafe());
  job.gradientOrder = {1, 1};
  EXPECT_EQ(verdictOf(job), "t.csv: C9: the order of gradients must name each "
                            "micro-batch once\n");
}

TEST(CheckTest, ParametersAreGatheredWhenUsed) {
  EXPECT_TRUE(
      check(jobOf("0UNSHARD,0F0,0RESHARD,0UNSHARD,0B0,0RESHARD\n")).isSafe());
  EXPECT_EQ(verdictOf("0UNSHARD,0F0,0RESHARD,0B0\n"),
            "t.csv:1:4: order: 0B0 needs the parameters, which are not "
            "gathered\n");
  EXPECT_EQ(
      verdictOf("0UNSHARD,0UNSHARD,0F0,0B0,0RESHARD\n"),
      "t.csv:1:2: order: 0UNSHARD: the parameters are gathered already\n");
  EXPECT_EQ(verdictOf("0F0,0B0,0RESHARD\n"),
            "t.csv:1:1: order: 0F0 needs the parameters, which are not "
            "gathered\n"
            "t.csv:1:2: order: 0B0 needs the parameters, which are not "
            "gathered\n"
            "t.csv:1:3: order: 0RESHARD: the parameters are not gathered\n");
  EXPECT_EQ(verdictOf("0UNSHARD,0F0,0RESHARD,0UNSHARD,0B0\n"),
            "t.csv:1: order: 0RESHARD is missing at the end\n");
  // Gathered once and kept.
  Job job = jobOf("0UNSHARD,1UNSHARD,0F0,1F0,1B0,0B0\n");
  EXPECT_TRUE(check(job).isSafe());
  job.rows[0].erase(job.rows[0].begin() + 1);
  EXPECT_THAT(verdictOf(job), HasSubstr("1F0 needs the parameters, which are "
                                        "not gathered"));
}

// Each micro-batch's are gathered over those of the one before.
TEST(CheckTest, PassesHaveWhatIsGatheredForThem) {
  EXPECT_TRUE(check(jobOf("0UNSHARD_F0,0F0,0UNSHARD_F1,0UNSHARD_B0,0F1,0B0,"
                          "0UNSHARD_B1,0B1\n"))
                  .isSafe());
  EXPECT_TRUE(check(jobOf("0F0,0UNSHARD_B0,0I0,0W0\n")).isSafe());
  EXPECT_EQ(verdictOf("0UNSHARD_F0,0UNSHARD_F1,0F0,0F1,0B0,0B1\n"),
            "t.csv:1:2: order: 0UNSHARD_F1 would be written over what "
            "0UNSHARD_F0 gathered, which is not used yet\n"
            "t.csv:1:3: order: 0F0 needs 0UNSHARD_F0 behind the pass before "
            "it\n"
            "t.csv:1:4: order: 0F1 needs 0UNSHARD_F1 behind the pass before "
            "it\n");
  EXPECT_EQ(verdictOf("0F0,0UNSHARD_B0,0B0,0UNSHARD_B0\n"),
            "t.csv:1: order: 0UNSHARD_B0 gathers for no pass behind it\n");
  Job job = jobOf("0UNSHARD_F0,0F0,0B0\n");
  job.rows[0].erase(job.rows[0].begin());
  EXPECT_EQ(verdictOf(job),
            "t.csv:1:1: order: 0F0 needs 0UNSHARD_F0 behind the "
            "pass before it\n");
  job = jobOf("0UNSHARD_F0,0F0,0B0\n");
  job.gatheredPasses = {};
  EXPECT_EQ(verdictOf(job), "t.csv:1:1: order: 0UNSHARD_F0 is unexpected: the "
                            "pass gathers its parameters itself\n");
  EXPECT_THAT(verdictOf("0F0,0B0\n0UNSHARD_F0\n"),
              HasSubstr("0UNSHARD_F0 belongs on rank 0"));
}

TEST(CheckTest, GradientsAreReducedOnce) {
  EXPECT_TRUE(check(jobOf("0F0,0F1,0B0,0B1,0REDUCE_GRAD\n")).isSafe());
  const char *text =
      "0REDUCE_GRAD must come once, behind all weight gradients of the stage";
  EXPECT_THAT(verdictOf("0F0,0F1,0B0,0REDUCE_GRAD,0B1\n"), HasSubstr(text));
  EXPECT_THAT(verdictOf("0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD\n"),
              HasSubstr(text));
  Job job = jobOf("0F0,1F0,1B0,1REDUCE_GRAD,0B0\n");
  EXPECT_TRUE(check(job).isSafe());
  job.reducedStages = {1, 0};
  EXPECT_EQ(verdictOf(job), "t.csv:1: order: 0REDUCE_GRAD is missing\n");
  job.reducedStages = {};
  EXPECT_EQ(verdictOf(job), "t.csv:1:4: order: 1REDUCE_GRAD is unexpected: the "
                            "update reduces these gradients\n");
  EXPECT_THAT(verdictOf("0F0,0B0\n0REDUCE_GRAD\n"),
              HasSubstr("t.csv:2:1: order: 0REDUCE_GRAD belongs on rank 0"));
}

// The update of a rank needs the gradients of all its stages, and is keyed by
// the first of them.
TEST(CheckTest, UpdatesAreBehindReductions) {
  EXPECT_TRUE(check(jobOf("0F0,1F0,1B0,1REDUCE_GRAD,0B0,0U0\n")).isSafe());
  EXPECT_EQ(verdictOf("0F0,1F0,1B0,0B0,0U0,1REDUCE_GRAD\n"),
            "t.csv:1:5: order: 0U0 needs the gradients of stage 1, which are "
            "not reduced\n");
}

TEST(CheckTest, WhoUsesWhatIsDeferredWaitsForIt) {
  Job job = jobOf("0F0,1F0,1B0,1REDUCE_GRAD,0B0,0U0\n");
  job.deferred = {{0, 3, 5, {5}}};
  EXPECT_TRUE(check(job).isSafe());
  job.deferred = {{0, 3, 6, {}}};
  EXPECT_TRUE(check(job).isSafe());
  // Awaited at the end of the row only.
  job.deferred = {{0, 3, 6, {5}}};
  EXPECT_EQ(verdictOf(job), "t.csv:1:6: order: 0U0 does not wait for "
                            "1REDUCE_GRAD at 1:4, whose memory it uses\n");
  job.deferred = {{0, 3, 5, {4, 5}}};
  EXPECT_EQ(verdictOf(job), "t.csv:1:5: order: 0B0 does not wait for "
                            "1REDUCE_GRAD at 1:4, whose memory it uses\n");
  for (const Deferred &wrong :
       {Deferred{0, 3, 3, {}}, Deferred{0, 3, 7, {}}, Deferred{1, 3, 5, {}},
        Deferred{0, -1, 5, {}}}) {
    job.deferred = {wrong};
    EXPECT_THAT(verdictOf(job), HasSubstr("is neither UNSHARD nor"));
  }
  job.deferred = {{0, 2, 5, {}}};
  EXPECT_EQ(verdictOf(job),
            "t.csv:1:3: order: column 3, awaited by column 6, is neither "
            "UNSHARD nor REDUCE_GRAD\n");
  job = jobOf("0UNSHARD_F0,0F0,0B0\n");
  job.deferred = {{0, 0, 2, {1}}};
  EXPECT_EQ(verdictOf(job), "t.csv:1:2: order: 0F0 does not wait for "
                            "0UNSHARD_F0 at 1:1, whose memory it uses\n");
  job = jobOf("0UNSHARD,1UNSHARD,0F0,1F0,1B0,0B0\n");
  job.deferred = {{0, 1, 3, {3}}};
  EXPECT_TRUE(check(job).isSafe());
  job.deferred = {{0, 1, 4, {3}}};
  EXPECT_EQ(verdictOf(job), "t.csv:1:4: order: 1F0 does not wait for 1UNSHARD "
                            "at 1:2, whose memory it uses\n");
}

TEST(CheckTest, WaitsAreForEarlierCalls) {
  Job job = jobOf(twoRanks);
  // The second receive of rank 1 waits for its first gradient, on queues of
  // their own, as it would in BeforeUse.
  job.waits = {{1, 1, 3}};
  EXPECT_EQ(verdictOf(job),
            "t.csv:2:2: order: waits for column 4, which is not before it\n");
  job = jobOf(twoRanks, Communicators::DirectedPair);
  job.waits = {{0, 3, 1}};
  EXPECT_TRUE(check(job).isSafe());
}

TEST(CheckTest, WaitsCanDeadlock) {
  // Rank 0 keeps its one buffer until the gradient has come, but sends from it
  // only behind what rank 1 needs first.
  Job job = jobOf("0F0,0SEND_F0,2RECV_F0,2F0,0F1,0SEND_F1\n"
                  "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1\n"
                  "2F1\n");
  EXPECT_FALSE(check(job).isSafe());
  job = jobOf("0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2RECV_F1,2F1\n"
              "1RECV_F0,1RECV_F1,1F0,1SEND_F0,1F1,1SEND_F1\n");
  EXPECT_TRUE(check(job).isSafe());
  // 1SEND_F0 would wait for 1RECV_F1, whose send waits for 2F0 on rank 0.
  job.rows[0] = jobOf("0F0,0SEND_F0,2RECV_F0,2F0,0F1,0SEND_F1,2RECV_F1,2F1\n"
                      "1RECV_F0,1RECV_F1,1F0,1SEND_F0,1F1,1SEND_F1\n")
                    .rows[0];
  EXPECT_TRUE(check(job).isSafe());
  job.waits = {{1, 3, 1}};
  EXPECT_THAT(verdictOf(job),
              HasSubstr("queue ranks 1->0: 1SEND_F0 (2:4) waits for 1RECV_F1 "
                        "(2:2)"));
  // And the same for a computation.
  job.waits = {{1, 2, 1}};
  EXPECT_THAT(verdictOf(job),
              HasSubstr("rank 1, compute: 1F0 (2:3) needs 1RECV_F1 (2:2)"));
}

TEST(CheckTest, OnlySomeProblemsAreListed) {
  std::string text;
  for (int i = 0; i < 150; ++i)
    text += (i ? ",0F0" : "0F0");
  EXPECT_THAT(verdictOf(text + "\n"), HasSubstr("and 49 more problems"));
}
