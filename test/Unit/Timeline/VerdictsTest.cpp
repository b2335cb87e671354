//===- VerdictsTest.cpp - Where receives stand, and who shares a queue ----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executor.h"

#include "weft/Timeline/Schedules.h"
#include "weft/Timeline/Transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft::timeline;

namespace {

constexpr Communicators policies[] = {
    Communicators::One, Communicators::RankPair, Communicators::DirectedPair,
    Communicators::Edge};

struct Size {
  int32_t ranks, microbatches;
};
constexpr Size sizes[] = {{2, 4}, {2, 8}, {4, 8}, {4, 16}, {8, 16}};

struct Case {
  std::string name;
  Table compute;
  Placement placement;
  Size size;
};

Case caseOf(std::string_view name, Size size) {
  const NamedSchedule *schedule = findSchedule(name);
  const GeneratedTable generated =
      generate(name, {.ranks = size.ranks, .microbatches = size.microbatches});
  EXPECT_EQ(generated.error, "");
  return {std::string(name), generated.table,
          placementOf(schedule->fold, size.ranks, schedule->defaultChunks),
          size};
}

/// Receives directly before the action that needs the message, whatever the
/// sender sends before. With `lowerReceivesFirst`, where a rank sends to
/// another and then receives from it, the lower of the two receives first.
Table receiveJustBeforeUse(const Case &of, bool lowerReceivesFirst) {
  const int32_t stages = int32_t(of.placement.size());
  const auto isElsewhere = [&](int32_t stage, int32_t other) {
    return other >= 0 && other < stages &&
           of.placement[stage] != of.placement[other];
  };
  Table result;
  for (const Row &row : of.compute.rows) {
    Row &to = result.rows.emplace_back();
    for (size_t begin = 0, end; begin < row.size(); begin = end) {
      end = begin + 1 + row[begin].overlapsNext;
      const auto each = [&](auto visit) {
        for (size_t i = begin; i < end; ++i)
          if (row[i].kind != ActionKind::WeightGradient)
            visit(row[i], row[i].kind == ActionKind::Forward ? 1 : -1);
      };
      each([&](const Action &action, int32_t step) {
        if (isElsewhere(action.stage, action.stage - step))
          to.push_back({action.stage,
                        step > 0 ? ActionKind::ReceiveForward
                                 : ActionKind::ReceiveBackward,
                        action.microbatch});
      });
      to.insert(to.end(), row.begin() + begin, row.begin() + end);
      each([&](const Action &action, int32_t step) {
        if (isElsewhere(action.stage, action.stage + step))
          to.push_back(
              {action.stage,
               step > 0 ? ActionKind::SendForward : ActionKind::SendBackward,
               action.microbatch});
      });
    }
  }
  if (!lowerReceivesFirst)
    return result;
  const auto peerOf = [&](const Action &action) {
    const bool isUp = action.kind == ActionKind::SendForward ||
                      action.kind == ActionKind::ReceiveBackward;
    return of.placement[action.stage + (isUp ? 1 : -1)];
  };
  const auto isSend = [](const Action &action) {
    return action.kind == ActionKind::SendForward ||
           action.kind == ActionKind::SendBackward;
  };
  for (size_t rank = 0; rank < result.rows.size(); ++rank) {
    Row &row = result.rows[rank];
    for (size_t i = 0; i + 1 < row.size(); ++i)
      if (isTransfer(row[i].kind) && isTransfer(row[i + 1].kind) &&
          isSend(row[i]) && !isSend(row[i + 1]) &&
          peerOf(row[i]) == peerOf(row[i + 1]) &&
          int32_t(rank) < peerOf(row[i])) {
        std::swap(row[i], row[i + 1]);
        ++i;
      }
  }
  return result;
}

const char *nameOf(Communicators policy) {
  switch (policy) {
  case Communicators::One:
    return "one";
  case Communicators::RankPair:
    return "pair";
  case Communicators::DirectedPair:
    return "directed";
  case Communicators::Edge:
    return "edge";
  }
  return "";
}

std::string label(const Case &of, Communicators policy) {
  return of.name + " " + std::to_string(of.size.ranks) + "x" +
         std::to_string(of.size.microbatches) + " " + nameOf(policy);
}

/// Compares the verdict with what the job does.
bool isSafe(const Case &of, const Table &table, Communicators policy) {
  const Job job = makeJob(table, policy);
  const Verdict verdict = check(job);
  SCOPED_TRACE(label(of, policy));
  EXPECT_EQ(execute(job, {}, 1).failure.empty(), verdict.isSafe())
      << print(verdict, of.name);
  // Messages that meet by what they carry do not get mixed up. Then a wrong
  // order of receives is a deadlock, as in the published table.
  const Execution tagged = execute(job, {}, 1, Matching::ByTag);
  EXPECT_EQ(tagged.failure, verdict.isSafe() ? "" : "deadlock");
  if (!verdict.isSafe() &&
      verdict.problems.front().condition == Condition::C2) {
    EXPECT_GE(verdict.cycle.size(), 2);
  }
  return verdict.isSafe();
}

void forEachCase(auto visit) {
  for (const char *name : {"1f1b", "interleaved-1f1b", "interleaved-zb",
                           "zb-h1", "zb-v", "dualpipev"})
    for (const Size size : sizes)
      visit(caseOf(name, size));
}

} // namespace

TEST(VerdictsTest, ReceivesWithTheSendAreAlwaysSafe) {
  forEachCase([](const Case &of) {
    const TransferredTable table = addTransfers(
        of.compute, of.placement, neighbourEdges(int32_t(of.placement.size())),
        Receives::WithSend);
    for (Communicators policy : policies) {
      EXPECT_TRUE(isSafe(of, table.table, policy)) << label(of, policy);
      EXPECT_TRUE(check(makeJob(table.table, policy)).has(Condition::C3));
    }
  });
}

TEST(VerdictsTest, ReceivesInTheOrderOfTheSenderNeedDirectedQueues) {
  forEachCase([](const Case &of) {
    const TransferredTable table = addTransfers(
        of.compute, of.placement, neighbourEdges(int32_t(of.placement.size())),
        Receives::BeforeUse);
    for (Communicators policy : policies) {
      const bool hasTwoQueues = policy == Communicators::DirectedPair ||
                                policy == Communicators::Edge;
      EXPECT_EQ(isSafe(of, table.table, policy), hasTwoQueues)
          << label(of, policy);
      EXPECT_FALSE(check(makeJob(table.table, policy)).has(Condition::C3));
    }
  });
}

TEST(VerdictsTest, ReceivesAnActionAheadNeedDirectedQueues) {
  forEachCase([](const Case &of) {
    const TransferredTable table = addTransfers(
        of.compute, of.placement, neighbourEdges(int32_t(of.placement.size())),
        Receives::OneAhead);
    for (Communicators policy : policies) {
      const bool hasTwoQueues = policy == Communicators::DirectedPair ||
                                policy == Communicators::Edge;
      const bool meets = policy == Communicators::RankPair &&
                         of.name == "interleaved-1f1b" && of.size.ranks > 2;
      EXPECT_EQ(isSafe(of, table.table, policy), hasTwoQueues || meets)
          << label(of, policy);
    }
  });
}

/// Whether receives just before their use are in the order in which one rank
/// sends to another.
static bool meetsInOrder(const Case &of) {
  if (of.name == "zb-v")
    return false;
  if (of.name == "interleaved-zb")
    return of.size.ranks > 2;
  if (of.name == "dualpipev")
    return of.size.ranks < 4;
  return true;
}

TEST(VerdictsTest, ReceivesJustBeforeTheirUseNeedAQueueForEachEdge) {
  forEachCase([](const Case &of) {
    const Table table = receiveJustBeforeUse(of, /*lowerReceivesFirst=*/false);
    EXPECT_FALSE(isSafe(of, table, Communicators::One));
    EXPECT_FALSE(isSafe(of, table, Communicators::RankPair));
    EXPECT_EQ(isSafe(of, table, Communicators::DirectedPair), meetsInOrder(of))
        << label(of, Communicators::DirectedPair);
    EXPECT_TRUE(isSafe(of, table, Communicators::Edge));
  });
}

// Where a rank exchanges a message with each neighbour at most, it is enough
// that the two ends of a pair disagree on what comes first.
TEST(VerdictsTest, LowerRanksReceivingFirstHelpUnlessStagesFold) {
  forEachCase([](const Case &of) {
    const Table table = receiveJustBeforeUse(of, /*lowerReceivesFirst=*/true);
    const bool hasOneChunk = of.name == "1f1b" || of.name == "zb-h1";
    for (Communicators policy : {Communicators::One, Communicators::RankPair})
      EXPECT_EQ(isSafe(of, table, policy), hasOneChunk) << label(of, policy);
    EXPECT_EQ(isSafe(of, table, Communicators::DirectedPair), meetsInOrder(of));
    EXPECT_TRUE(isSafe(of, table, Communicators::Edge));
  });
}

// All forwards come first, and gradients flow back only then.
TEST(VerdictsTest, GPipeIsSafeEverywhere) {
  const Case of = caseOf("gpipe", {4, 8});
  for (Communicators policy : policies)
    EXPECT_TRUE(isSafe(of, receiveJustBeforeUse(of, false), policy));
}
