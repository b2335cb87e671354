//===- RingsTest.cpp - Memory of one value of many micro-batches ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executor.h"
#include "StepShapes.h"
#include "Tables.h"

#include "weft/Timeline/Rings.h"
#include "weft/Timeline/SlotUses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <optional>

using namespace weft::timeline;
using testing::ElementsAre;

namespace {

/// The depth for what is in memory from one kind of action to another.
int32_t depthOf(std::string_view csv, ActionKind first, ActionKind last) {
  const Table table = tableOf(csv);
  const Row &row = table.rows.front();
  return ringDepth(row, touchesOf(row, extentOf(table).microbatches,
                                  [&](const Action &action) {
                                    return action.kind == first ||
                                           action.kind == last;
                                  }));
}

} // namespace

TEST(RingsTest, DepthIsThatOfTheRow) {
  const char *row = "0F0,0F1,0I0,0F2,0W0,0F3,0I1,0W1,0I2,0W2,0I3,0W3\n";
  EXPECT_EQ(depthOf(row, ActionKind::Forward, ActionKind::WeightGradient), 3);
  EXPECT_EQ(depthOf(row, ActionKind::InputGradient, ActionKind::WeightGradient),
            1);
  EXPECT_EQ(depthOf(row, ActionKind::Update, ActionKind::Update), 0);
}

// Two at a time are not enough for a ring of two.
TEST(RingsTest, MicrobatchesMayLeaveInAnotherOrder) {
  EXPECT_EQ(depthOf("0F0,0F1,0B1,0F2,0B2,0B0\n", ActionKind::Forward,
                    ActionKind::Backward),
            3);
  EXPECT_EQ(depthOf("0F0,0F1,0F2,0B2,0B1,0B0\n", ActionKind::Forward,
                    ActionKind::Backward),
            3);
  EXPECT_EQ(depthOf("0F2,0B2,0F1,0B1,0F0,0B0\n", ActionKind::Forward,
                    ActionKind::Backward),
            1);
}

TEST(RingsTest, SendsMayGoOnBesideTheNextAction) {
  const Table table = tableOf("0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0F2,"
                              "0SEND_F2\n");
  const Row &row = table.rows.front();
  const Touches touches = touchesOf(row, 3, [](const Action &action) {
    return action.kind == ActionKind::Forward ||
           action.kind == ActionKind::SendForward;
  });
  EXPECT_EQ(ringDepth(row, touches), 1);
  EXPECT_EQ(ringDepth(row, touches, SendEnd::BehindNext), 2);
}

TEST(RingsTest, WhatWalksWaitsForAllBeforeIt) {
  const Table table = tableOf("0F0,0SEND_F0,0RECV_B1,0F1,0SEND_F1\n");
  std::vector<std::pair<int32_t, int32_t>> waits;
  const Job job = makeJob(table, Communicators::Edge, neighbourEdges(2));
  for (const Wait &wait : waitsOfWalk(job, {{0, 2, 1}}))
    waits.push_back({wait.waiting, wait.awaited});
  // The second send, for the first of its queue as well.
  EXPECT_THAT(waits,
              ElementsAre(std::pair(1, 0), std::pair(2, 0), std::pair(2, 1),
                          std::pair(3, 0), std::pair(3, 1), std::pair(4, 3),
                          std::pair(4, 1)));
}

TEST(RingsTest, PairsHaveBothValues) {
  EXPECT_EQ(depthOf("0F0,(0F1;0B0)OVERLAP_F_B,0F2,0B1,0B2\n",
                    ActionKind::Forward, ActionKind::Backward),
            2);
}

TEST(RingsTest, OnceAStepTouchesAllMicrobatches) {
  const Table table = tableOf("0P0,0F0,0F1,0F2,0U0\n");
  const Row &row = table.rows.front();
  const Touches touches = touchesOf(row, 3, [](const Action &action) {
    return action.kind == ActionKind::Forward ||
           action.kind == ActionKind::Update;
  });
  EXPECT_THAT(touches, ElementsAre(ElementsAre(1, 4), ElementsAre(2, 4),
                                   ElementsAre(3, 4)));
  EXPECT_EQ(ringDepth(row, touches), 3);
}

namespace {

/// What a stage keeps of each micro-batch: its input from the receive or the
/// forward to the weight gradient, its output until it is sent, the gradient of
/// its output from the receive to the weight gradient, that of its input until
/// it is sent.
std::vector<RingValue> valuesOf(const Table &table, const StepShape &shape) {
  using enum ActionKind;
  const std::vector<ActionKind> kindsOfValues[] = {
      {ReceiveForward, Forward, Backward, InputGradient, WeightGradient},
      {Forward, SendForward},
      {ReceiveBackward, Backward, InputGradient, WeightGradient},
      {Backward, InputGradient, SendBackward}};
  std::vector<RingValue> values;
  for (int32_t stage = 0; stage < int32_t(shape.placement.size()); ++stage)
    for (const std::vector<ActionKind> &kinds : kindsOfValues) {
      const int32_t rank = shape.placement[stage];
      values.push_back({rank, touchesOf(table.rows[rank], shape.microbatches,
                                        [&](const Action &action) {
                                          return action.stage == stage &&
                                                 std::ranges::find(
                                                     kinds, action.kind) !=
                                                     kinds.end();
                                        })});
    }
  return values;
}

/// A job with rings, of ranks that walk their rows.
Job jobWithRings(const Table &table, const StepShape &shape,
                 const RingPlan &plan) {
  Job job = makeJob(table, shape);
  job.slotUses = plan.uses;
  job.waits = waitsOfWalk(job, plan.waits);
  return job;
}

/// With those of each transfer for the one before it in its queue.
std::vector<Wait> addWaitsOfQueues(const Job &job, std::vector<Wait> waits) {
  for (size_t rank = 0; rank < job.rows.size(); ++rank) {
    std::map<int32_t, int32_t> last;
    for (size_t i = 0; i < job.rows[rank].size(); ++i) {
      const Call &call = job.rows[rank][i];
      if (!isTransfer(call.action.kind))
        continue;
      if (const auto before = last.find(call.communicator);
          before != last.end())
        waits.push_back({int32_t(rank), int32_t(i), before->second});
      last[call.communicator] = int32_t(i);
    }
  }
  return waits;
}

/// Walks the rows of a job: a rank does one call after the other. Every action
/// takes 1 for each half of a backward pass and each forward, a transfer
/// `transfer` once both ends have started it and those before it have ended.
class Walker {
public:
  Walker(const Job &job, const std::vector<Wait> &slotWaits, double transfer)
      : job(job), transfer(transfer), at(job.rows.size()),
        clock(job.rows.size()), awaited(job.rows.size()) {
    for (const std::vector<Call> &row : job.rows)
      ends.emplace_back(row.size(), -1);
    for (const Wait &wait : slotWaits)
      awaited[wait.rank][wait.waiting].push_back(wait.awaited);
  }

  /// The makespan; none if ranks wait for each other.
  std::optional<double> run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (size_t rank = 0; rank < at.size(); ++rank)
        while (at[rank] < job.rows[rank].size() && step(rank))
          progress = true;
    }
    double makespan = 0;
    for (size_t rank = 0; rank < at.size(); ++rank) {
      if (at[rank] < job.rows[rank].size())
        return std::nullopt;
      makespan =
          std::max({makespan, clock[rank], std::ranges::max(ends[rank])});
    }
    return makespan;
  }

private:
  /// Source, destination, whether of micro-batches, whether of gradients or
  /// of the update, number.
  using Key = std::tuple<int32_t, int32_t, bool, bool, int32_t>;
  struct Message {
    size_t rank = 0, column = 0;
    double start = 0;
  };

  static Key keyOf(const Action &action) {
    const bool sends = isSend(action.kind), once = isOnce(action.kind);
    const bool flag = once ? isOfUpdate(action.kind)
                           : action.kind == ActionKind::SendBackward ||
                                 action.kind == ActionKind::ReceiveBackward;
    return {sends ? action.stage : action.peer,
            sends ? action.peer : action.stage, !once, flag, action.microbatch};
  }

  bool await(size_t rank, size_t column, double &time) const {
    if (ends[rank][column] < 0)
      return false;
    time = std::max(time, ends[rank][column]);
    return true;
  }

  static bool isInput(const Action &action, const Action &receive) {
    const bool isForward = action.kind == ActionKind::Forward;
    if (receive.stage != action.stage)
      return false;
    if (isOnce(receive.kind) && isLevel(action.kind))
      return isOfUpdate(receive.kind) == isOfUpdate(action.kind) &&
             action.microbatch == receive.microbatch + 1;
    if (isOnce(receive.kind))
      return isForward && !isOfUpdate(receive.kind);
    return receive.microbatch == action.microbatch && isCompute(action.kind) &&
           action.kind != ActionKind::WeightGradient &&
           isForward == (receive.kind == ActionKind::ReceiveForward);
  }

  /// What an action needs that is received before it in the row.
  bool awaitInputs(size_t rank, size_t column, double &time) const {
    const std::vector<Call> &row = job.rows[rank];
    for (size_t i = 0; i < column; ++i)
      if (isTransfer(row[i].action.kind) && !isSend(row[i].action.kind) &&
          isInput(row[column].action, row[i].action) && !await(rank, i, time))
        return false;
    return true;
  }

  bool step(size_t rank) {
    const std::vector<Call> &row = job.rows[rank];
    const size_t begin = at[rank];
    const size_t end = begin + 1 + row[begin].action.overlapsNext;
    double time = clock[rank], length = 0;
    for (size_t i = begin; i < end; ++i) {
      if (const auto found = awaited[rank].find(int32_t(i));
          found != awaited[rank].end())
        for (int32_t other : found->second)
          if (!await(rank, size_t(other), time))
            return false;
      const ActionKind kind = row[i].action.kind;
      if (!isTransfer(kind) && !awaitInputs(rank, i, time))
        return false;
      if (isCompute(kind))
        length += kind == ActionKind::Backward ? 2 : 1;
    }
    at[rank] = end;
    clock[rank] = time + length;
    if (!isTransfer(row[begin].action.kind)) {
      for (size_t i = begin; i < end; ++i)
        ends[rank][i] = clock[rank];
      return true;
    }
    const auto [other, isFirst] = started.try_emplace(
        keyOf(row[begin].action), Message{rank, begin, time});
    if (isFirst)
      return true;
    double &free = queues[row[begin].communicator];
    free = std::max({free, time, other->second.start}) + transfer;
    ends[rank][begin] = ends[other->second.rank][other->second.column] = free;
    return true;
  }

  const Job &job;
  const double transfer;
  std::vector<size_t> at;
  std::vector<double> clock;
  std::vector<std::vector<double>> ends;
  std::vector<std::map<int32_t, std::vector<int32_t>>> awaited;
  std::map<Key, Message> started;
  std::map<int32_t, double> queues;
};

void forEachTable(auto visit) {
  for (const NamedSchedule &schedule : namedSchedules())
    for (const ScheduleSize size : {ScheduleSize{1, 4},
                                    {2, 4},
                                    {2, 8},
                                    {3, 9},
                                    {4, 8},
                                    {4, 16},
                                    {2, 8, 3},
                                    {4, 8, 2}})
      if (const GeneratedTable generated = generate(schedule.name, size);
          generated.error.empty())
        visit(
            schedule.name, generated.table,
            shapeOf(placementOf(schedule, size), size.microbatches, Once::All));
}

constexpr Receives placesOfReceives[] = {
    Receives::BeforeUse, Receives::OneAhead, Receives::WithSend};

} // namespace

TEST(RingsTest, RingsOfSchedulesAreProved) {
  int proved = 0, deadlocks = 0, heldUp = 0;
  const auto judge = [&](std::string_view name, const Table &table,
                         const StepShape &shape, Receives receives,
                         SendEnd sendEnd) {
    const RingPlan plan = planRings(table, valuesOf(table, shape), sendEnd);
    Job job = jobWithRings(table, shape, plan);
    job.gradientOrder = gradientOrderOf(name, shape.microbatches);
    const Verdict verdict = check(job);
    const bool isProved = verdict.isSafe() && verdict.has(Condition::C8);
    // What the next rank receives much later fills the rings of its sender.
    const bool mayDeadlock = receives != Receives::WithSend &&
                             (name == "looped-bfs" || name == "interleaved-zb");
    EXPECT_TRUE(isProved || (mayDeadlock && !verdict.cycle.empty()))
        << name << " on " << table.ranks() << " ranks\n"
        << print(verdict, name);
    EXPECT_EQ(
        Walker(job, addWaitsOfQueues(job, plan.waits), 1).run().has_value(),
        isProved)
        << name;
    heldUp += !isProved && Walker(job, plan.waits, 1).run();
    for (unsigned seed = 0; seed < 3 && table.ranks() <= 2; ++seed)
      EXPECT_EQ(execute(job, {}, seed).failure, isProved ? "" : "deadlock")
          << name;
    ++(isProved ? proved : deadlocks);
    if (!isProved)
      return;
    // Where calls wait only for what they need it is safe as well, but nothing
    // else keeps a receive from writing too early.
    job.waits = plan.waits;
    EXPECT_TRUE(check(job).has(Condition::C8)) << name;
    if (job.waits.empty())
      return;
    job.waits.clear();
    EXPECT_FALSE(check(job).has(Condition::C8)) << name;
  };
  forEachTable(
      [&](std::string_view name, const Table &table, const StepShape &shape) {
        for (Receives receives : placesOfReceives)
          for (SendEnd sendEnd : {SendEnd::AtOnce, SendEnd::BehindNext})
            judge(name, makeStepRows(table, shape, receives).table, shape,
                  receives, sendEnd);
      });
  EXPECT_GT(proved, 250);
  EXPECT_GT(deadlocks, 10);
  // Some deadlock only where a transfer whose queue is busy holds up all that
  // the rank starts behind it.
  EXPECT_GT(heldUp, 4);
}

// While a rank waits for a send to end, it starts no receive.
TEST(RingsTest, RanksThatWalkNeedMore) {
  const ScheduleSize size = {4, 8};
  const StepShape shape = shapeOf(
      placementOf(*findSchedule("interleaved-zb"), size), 8, Once::None);
  const auto judge = [&](Receives receives, bool walks) {
    const Table table =
        makeStepRows(tableOf("interleaved-zb", size), shape, receives).table;
    const RingPlan plan = planRings(table, valuesOf(table, shape));
    Job job = jobWithRings(table, shape, plan);
    if (!walks)
      job.waits = plan.waits;
    return check(job).isSafe();
  };
  EXPECT_TRUE(judge(Receives::BeforeUse, /*walks=*/false));
  EXPECT_FALSE(judge(Receives::BeforeUse, /*walks=*/true));
  EXPECT_TRUE(judge(Receives::WithSend, /*walks=*/true));
}

// A ring with a slot too few is not safe, whatever waits for whom.
TEST(RingsTest, DepthIsTheLeast) {
  int smaller = 0;
  forEachTable([&](std::string_view name, const Table &compute,
                   const StepShape &shape) {
    if (smaller > 400)
      return;
    const Table table = makeStepRows(compute, shape, Receives::WithSend).table;
    const std::vector<RingValue> values = valuesOf(table, shape);
    const RingPlan plan = planRings(table, values);
    for (size_t i = 0; i < values.size(); ++i) {
      const int32_t depth = plan.depths[i] - 1;
      if (depth < 1)
        continue;
      ++smaller;
      RingPlan damaged;
      for (size_t j = 0; j < values[i].touches.size(); ++j)
        damaged.uses.push_back(
            {values[i].rank, int32_t(j) % depth, values[i].touches[j]});
      std::ranges::sort(damaged.uses, {}, &SlotUse::columns);
      for (const Wait &wait : waitsForSlots(table, damaged.uses))
        if (wait.awaited < wait.waiting)
          damaged.waits.push_back(wait);
      Job job = jobWithRings(table, shape, damaged);
      job.gradientOrder = gradientOrderOf(name, shape.microbatches);
      EXPECT_FALSE(check(job).isSafe())
          << name << ", value " << i << ", depth " << depth;
    }
  });
  EXPECT_GT(smaller, 400);
}

// Receives one action ahead, and slots for sends beside the next action, are
// worth some slots when transfers take a fifth of a forward pass.
TEST(RingsTest, TransfersGoOnBesideComputation) {
  const auto measure = [](Receives receives, SendEnd sendEnd) {
    double logarithms = 0, slots = 0;
    int count = 0;
    forEachTable([&](std::string_view, const Table &compute,
                     const StepShape &shape) {
      std::optional<double> time;
      RingPlan plan;
      // As the compiler does.
      for (Receives where : {receives, Receives::WithSend}) {
        const Table table = makeStepRows(compute, shape, where).table;
        plan = planRings(table, valuesOf(table, shape), sendEnd);
        const Job job = makeJob(table, shape);
        if (!Walker(job, addWaitsOfQueues(job, plan.waits), 0.2).run())
          continue;
        time = Walker(job, plan.waits, 0.2).run();
        break;
      }
      ASSERT_TRUE(time);
      logarithms += std::log(*time);
      slots = std::accumulate(plan.depths.begin(), plan.depths.end(), slots);
      ++count;
    });
    return std::pair(std::exp(logarithms / count), slots / count);
  };
  const auto [late, lateSlots] = measure(Receives::BeforeUse, SendEnd::AtOnce);
  const auto [ahead, aheadSlots] =
      measure(Receives::OneAhead, SendEnd::BehindNext);
  RecordProperty("makespan", std::to_string(ahead / late));
  RecordProperty("slots", std::to_string(aheadSlots / lateSlots));
  EXPECT_LT(ahead, 0.97 * late);
  EXPECT_LT(aheadSlots, 1.2 * lateSlots);
}
