//===- TransfersTest.cpp - Sends and receives of a table ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tables.h"

#include "weft/Timeline/ParameterActions.h"
#include "weft/Timeline/Transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

using namespace weft::timeline;

namespace {

std::string lowered(std::string_view text, const Placement &placement,
                    Receives receives) {
  const TransferredTable result =
      addTransfers(tableOf(text), placement,
                   neighbourEdges(int32_t(placement.size())), receives);
  EXPECT_EQ(result.error, "");
  return printCsv(result.table);
}

/// The steps of PyTorch's dry run of a table with communication: in a step each
/// rank, in their order, does its next action if what that needs is done, by
/// the ranks before it in the same step too; then those that could not try a
/// second time.
class DryRun {
public:
  DryRun(const Table &table, int32_t stages) : table(table), stages(stages) {}

  int32_t countSteps() {
    std::vector<size_t> next(table.rows.size(), 0);
    int32_t steps = 0;
    for (bool isDone = false; !isDone;) {
      ++steps;
      isDone = true;
      std::vector<bool> waits(table.rows.size(), false);
      const auto attempt = [&](size_t rank) {
        const Row &row = table.rows[rank];
        if (next[rank] == row.size())
          return true;
        if (!isReady(row[next[rank]]))
          return false;
        done.insert(row[next[rank]++]);
        return true;
      };
      for (size_t rank = 0; rank < table.rows.size(); ++rank)
        waits[rank] = !attempt(rank);
      for (size_t rank = 0; rank < table.rows.size(); ++rank) {
        if (waits[rank])
          attempt(rank);
        isDone &= next[rank] == table.rows[rank].size();
      }
    }
    return steps;
  }

private:
  bool has(int32_t stage, ActionKind kind, int32_t microbatch) const {
    return done.contains({stage, kind, microbatch});
  }
  bool hasGradient(int32_t stage, int32_t microbatch) const {
    return has(stage, ActionKind::Backward, microbatch) ||
           has(stage, ActionKind::InputGradient, microbatch);
  }
  bool isReady(const Action &action) const {
    const auto [s, kind, i] =
        std::tuple(action.stage, action.kind, action.microbatch);
    switch (kind) {
    case ActionKind::Forward:
      return s == 0 || has(s, ActionKind::ReceiveForward, i) ||
             has(s - 1, ActionKind::Forward, i);
    case ActionKind::Backward:
    case ActionKind::InputGradient:
      return s == stages - 1 || has(s, ActionKind::ReceiveBackward, i) ||
             hasGradient(s + 1, i);
    case ActionKind::SendForward:
      return has(s, ActionKind::Forward, i);
    case ActionKind::SendBackward:
      return hasGradient(s, i);
    case ActionKind::ReceiveForward:
      return has(s - 1, ActionKind::SendForward, i);
    case ActionKind::ReceiveBackward:
      return has(s + 1, ActionKind::SendBackward, i);
    default:
      return true;
    }
  }

  const Table &table;
  const int32_t stages;
  std::set<Action> done;
};

constexpr std::string_view twoRanks = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";
constexpr std::string_view twoRanksSent =
    "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
    "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n";
constexpr std::string_view fourStages =
    "0F0,0F1,3F0,3B0,3F1,3B1,0B0,3W0,0B1,3W1,0W0,0W1\n"
    "1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1,2W0,2W1,1W0,1W1\n";
constexpr std::string_view fourStagesSent =
    "0F0,0SEND_F0,0F1,0SEND_F1,3RECV_F0,3F0,3B0,3SEND_B0,3RECV_F1,3F1,3B1,"
    "3SEND_B1,0RECV_B0,0B0,3W0,0RECV_B1,0B1,3W1,0W0,0W1\n"
    "1RECV_F0,1RECV_F1,1F0,2F0,2SEND_F0,1F1,2RECV_B0,2F1,2SEND_F1,2B0,"
    "2RECV_B1,1B0,1SEND_B0,2B1,1B1,1SEND_B1,2W0,2W1,1W0,1W1\n";

} // namespace

TEST(TransfersTest, ReceivesStandWhereTheMessageIsSent) {
  EXPECT_EQ(lowered(twoRanks, {0, 1}, Receives::WithSend), twoRanksSent);
}

TEST(TransfersTest, StagesOfOneRankTransferNothing) {
  EXPECT_EQ(lowered(fourStages, {0, 1, 1, 0}, Receives::WithSend),
            fourStagesSent);
}

// These tables and the numbers of steps are those of PyTorch's tests.
TEST(TransfersTest, PublishedTablesTakeThePublishedSteps) {
  EXPECT_EQ(DryRun(tableOf(twoRanksSent), 2).countSteps(), 11);
  EXPECT_EQ(DryRun(tableOf(fourStagesSent), 4).countSteps(), 24);
}

TEST(TransfersTest, ReceivesStandBeforeTheirUse) {
  EXPECT_EQ(lowered(twoRanks, {0, 1}, Receives::BeforeUse),
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n");
}

TEST(TransfersTest, ReceivesStandAnActionAhead) {
  EXPECT_EQ(lowered(twoRanks, {0, 1}, Receives::OneAhead),
            "0F0,0SEND_F0,0RECV_B0,0F1,0SEND_F1,0RECV_B1,0B0,0B1\n"
            "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n");
}

// Rank 1 needs the output of stage 2 first, but rank 0 sends that of stage 0
// first.
TEST(TransfersTest, ReceivesKeepTheOrderOfTheSender) {
  EXPECT_EQ(lowered("0F0,2F0,0F1,2F1\n1F0,3F0,1F1,3F1\n", {0, 1, 0, 1},
                    Receives::BeforeUse),
            "0F0,0SEND_F0,2RECV_F0,2F0,2SEND_F0,0F1,0SEND_F1,2RECV_F1,2F1,"
            "2SEND_F1\n"
            "1RECV_F0,1F0,1SEND_F0,3RECV_F0,3F0,1RECV_F1,1F1,1SEND_F1,3RECV_F1,"
            "3F1\n");
  EXPECT_EQ(lowered("0F0,0F1,2F0,2F1\n1F0,3F0,1F1,3F1\n", {0, 1, 0, 1},
                    Receives::BeforeUse),
            "0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2SEND_F0,2RECV_F1,2F1,"
            "2SEND_F1\n"
            "1RECV_F0,1F0,1SEND_F0,1RECV_F1,3RECV_F0,3F0,1F1,1SEND_F1,"
            "3RECV_F1,3F1\n");
}

TEST(TransfersTest, PairsReceiveBeforeBothAndSendBehindBoth) {
  EXPECT_EQ(lowered("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n"
                    "1F0,1B0,1F1,1B1\n",
                    {0, 1}, Receives::WithSend),
            "0F0,0SEND_F0,0RECV_B0,(0F1;0B0)OVERLAP_F_B,0SEND_F1,0RECV_B1,"
            "0B1\n"
            "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n");
}

TEST(TransfersTest, SkipConnectionsAreSentOnce) {
  std::vector<Edge> edges = neighbourEdges(3);
  edges.push_back({0, 2, false});
  edges.push_back({2, 0, true});
  const TransferredTable result =
      addTransfers(tableOf("0F0,0B0\n1F0,1B0\n2F0,2B0\n"), {0, 1, 2}, edges,
                   Receives::WithSend);
  EXPECT_EQ(printCsv(result.table),
            "0F0,0SEND_F0,0SEND_F0>2,0RECV_B0<2,0RECV_B0,0B0\n"
            "1RECV_F0,1F0,1SEND_F0,1RECV_B0,1B0,1SEND_B0\n"
            "2RECV_F0<0,2RECV_F0,2F0,2B0,2SEND_B0,2SEND_B0>0\n");
}

TEST(TransfersTest, RowsThatWaitForThemselvesHaveNoOrder) {
  EXPECT_EQ(addTransfers(tableOf("0B0,0F0\n1F0,1B0\n"), {0, 1},
                         neighbourEdges(2), Receives::WithSend)
                .error,
            "rank 0 cannot go beyond 0B0, whose inputs are made behind it or "
            "not at all");
}

// What takes no time moves no receive.
TEST(TransfersTest, GathersDoNotDelayTransfers) {
  Table table = tableOf(twoRanks);
  for (Row &row : table.rows)
    row = addGradientReductions(addUnshards(row), 2);
  table =
      addTransfers(table, {0, 1}, neighbourEdges(2), Receives::WithSend).table;
  for (Row &row : table.rows)
    std::erase_if(row, [](const Action &action) {
      return !isCompute(action.kind) && !isTransfer(action.kind);
    });
  EXPECT_EQ(printCsv(table), twoRanksSent);
}
