//===- MutationTest.cpp - Damaged timelines -------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Damages timelines in one place and compares what the checker says with what
// a run of them does. `--mutations=100000` tries more of them.
//
//===----------------------------------------------------------------------===//

#include "Executor.h"
#include "StepShapes.h"

#include "weft/Timeline/ParameterActions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

using namespace weft::timeline;

static int mutations = 10000;

namespace {

struct Original {
  std::string name;
  Job job;
  std::set<int32_t> sharded;
  Execution execution;
};

constexpr Communicators policies[] = {
    Communicators::One, Communicators::RankPair, Communicators::DirectedPair,
    Communicators::Edge};

/// What a step has beside the actions of its schedule.
enum class Extras {
  None,
  /// Gathers, reductions, and a skip connection from the first stage to the
  /// last one.
  Microbatches,
  /// Prologues, updates, reductions, and gathers of stages that begin late.
  Once,
};

/// A table with all that it needs.
Table tableOf(const NamedSchedule &schedule, ScheduleSize size, Extras extras,
              Receives receives, StepShape &shape) {
  const GeneratedTable generated = generate(schedule.name, size);
  if (!generated.error.empty())
    return {};
  Table table = generated.table;
  if (extras == Extras::Microbatches)
    for (Row &row : table.rows)
      row = addUnshards(row);
  if (extras != Extras::None)
    for (Row &row : table.rows)
      row = addGradientReductions(row, size.microbatches);
  shape = shapeOf(placementOf(schedule, size), size.microbatches,
                  extras == Extras::Once ? Once::All : Once::None);
  if (extras == Extras::Once)
    for (int32_t stage = size.ranks; size_t(stage) < shape.placement.size();
         ++stage)
      shape.gatheredStages.push_back(stage);
  if (extras == Extras::Microbatches)
    shape.gatheredPasses = {{0, ActionKind::UnshardForward},
                            {0, ActionKind::UnshardBackward}};
  const int32_t last = int32_t(shape.placement.size()) - 1;
  if (extras == Extras::Microbatches && last > 1) {
    shape.edges.push_back({0, last, false, 32});
    shape.edges.push_back({last, 0, true, 32});
  }
  const TransferredTable result = makeStepRows(table, shape, receives);
  EXPECT_EQ(result.error, "") << schedule.name;
  return result.table;
}

/// Whether this placement of receives is safe with these communicators.
bool belongTogether(Receives receives, Communicators communicators) {
  return receives == Receives::WithSend ||
         communicators == Communicators::DirectedPair ||
         communicators == Communicators::Edge;
}

void forEachJob(std::initializer_list<ScheduleSize> sizes, auto visit) {
  for (const NamedSchedule &schedule : namedSchedules())
    for (const ScheduleSize size : sizes)
      for (Extras extras : {Extras::None, Extras::Microbatches, Extras::Once})
        for (Receives receives :
             {Receives::WithSend, Receives::BeforeUse, Receives::OneAhead}) {
          StepShape shape;
          const Table table = tableOf(schedule, size, extras, receives, shape);
          if (table.rows.empty())
            continue;
          for (Communicators policy : policies)
            if (belongTogether(receives, policy)) {
              Job job = makeJob(table, shape, policy);
              job.gradientOrder =
                  gradientOrderOf(schedule.name, size.microbatches);
              visit(std::string(schedule.name), std::move(job));
            }
        }
}

class Mutator {
public:
  Mutator(const Job &original, unsigned seed, int places)
      : random(seed), job(original) {
    for (int i = 0; i < places; ++i)
      while (!mutate())
        ;
  }

  std::string what;

private:
  std::mt19937 random;

public:
  Job job;

private:
  size_t draw(size_t count) { return random() % count; }
  std::vector<Call> &drawRow() {
    for (;;)
      if (auto &row = job.rows[draw(job.rows.size())]; !row.empty())
        return row;
  }

  /// One call and its place; transfers only, if asked for.
  Call *drawCall(bool onlyTransfers) {
    std::vector<Call *> calls;
    for (auto &row : job.rows)
      for (Call &call : row)
        if (!onlyTransfers || isTransfer(call.action.kind))
          calls.push_back(&call);
    return calls.empty() ? nullptr : calls[draw(calls.size())];
  }

  int32_t rankOf(int32_t stage) const {
    for (size_t rank = 0; rank < job.rows.size(); ++rank)
      for (const Call &call : job.rows[rank])
        if (call.action.stage == stage && isCompute(call.action.kind))
          return int32_t(rank);
    return -1;
  }

  int32_t drawStage() {
    int32_t stages = 0;
    for (const Edge &edge : job.edges)
      stages = std::max({stages, edge.source + 1, edge.destination + 1});
    return int32_t(draw(std::max(stages, 1)));
  }

  bool retarget() {
    switch (draw(4)) {
    case 0: { // to another stage
      what = "retarget a transfer";
      Call *call = drawCall(/*onlyTransfers=*/true);
      if (!call)
        return false;
      const int32_t peer = drawStage();
      if (peer == call->action.peer)
        return false;
      call->action.peer = peer;
      call->peerRank = rankOf(peer);
      return true;
    }
    case 1: {
      what = "another micro-batch";
      Call *call = drawCall(/*onlyTransfers=*/false);
      if (call->action.microbatch < 0)
        return false;
      call->action.microbatch ^= 1;
      return true;
    }
    case 2: {
      what = "another stage";
      Call *call = drawCall(/*onlyTransfers=*/false);
      const int32_t stage = drawStage();
      if (stage == call->action.stage)
        return false;
      call->action.stage = stage;
      return true;
    }
    default: {
      what = "another rank";
      auto &from = drawRow();
      auto &to = drawRow();
      if (&from == &to)
        return false;
      const size_t at = draw(from.size());
      to.insert(to.begin() + ptrdiff_t(draw(to.size() + 1)), from[at]);
      from.erase(from.begin() + ptrdiff_t(at));
      return true;
    }
    }
  }

  bool mutate() {
    auto &row = drawRow();
    const size_t at = draw(row.size());
    switch (draw(8)) {
    case 0: {
      what = "swap";
      std::swap(row[at], row[draw(row.size())]);
      return true;
    }
    case 1: {
      what = "swap neighbours";
      if (at + 1 == row.size())
        return false;
      std::swap(row[at], row[at + 1]);
      return true;
    }
    case 2:
      what = "drop";
      row.erase(row.begin() + ptrdiff_t(at));
      return true;
    case 3: {
      what = "duplicate";
      const Call copy = row[at];
      row.insert(row.begin() + ptrdiff_t(draw(row.size() + 1)), copy);
      return true;
    }
    case 4:
      return retarget();
    default:
      Call *call = drawCall(/*onlyTransfers=*/true);
      if (!call)
        return false;
      switch (draw(3)) {
      case 0:
        what = "resize";
        call->bytes += int64_t(draw(2) ? 1 : -1);
        return true;
      case 1:
        what = "another element type";
        ++call->elementType;
        return true;
      default:
        what = "another communicator";
        if (job.communicators.size() < 2)
          job.communicators.push_back("others");
        const int32_t old = call->communicator;
        call->communicator = int32_t(draw(job.communicators.size()));
        return call->communicator != old;
      }
    }
  }
};

} // namespace

TEST(MutationTest, NoScheduleIsRejected) {
  int jobs = 0;
  forEachJob({{1, 1},
              {1, 4},
              {2, 1},
              {2, 4},
              {2, 8},
              {3, 3},
              {3, 9},
              {4, 4},
              {4, 8},
              {4, 16},
              {8, 16},
              {8, 32},
              {2, 8, 3},
              {4, 8, 2},
              {4, 16, 4}},
             [&](const std::string &name, Job job) {
               ++jobs;
               const Verdict verdict = check(job);
               EXPECT_TRUE(verdict.isSafe()) << print(verdict, name);
             });
  EXPECT_GE(jobs, 1000);
}

/// What the mutants are made of.
static const std::vector<Original> &originals() {
  static const std::vector<Original> all = [] {
    std::vector<Original> originals;
    forEachJob({{1, 4}, {2, 4}, {3, 6}, {4, 8}, {2, 4, 2}},
               [&](const std::string &name, Job job) {
                 Original original{name, std::move(job), {}, {}};
                 original.sharded.insert(original.job.shardedStages.begin(),
                                         original.job.shardedStages.end());
                 original.execution =
                     execute(original.job, original.sharded, 0);
                 EXPECT_EQ(original.execution.failure, "") << name;
                 originals.push_back(std::move(original));
               });
    return originals;
  }();
  return all;
}

/// Whether several runs of a mutant end as the original does.
static bool isEquivalent(const Original &original, const Job &mutant,
                         std::mt19937 &random) {
  for (int run = 0; run < 3; ++run)
    if (execute(mutant, original.sharded, unsigned(random())) !=
        original.execution)
      return false;
  return true;
}

TEST(MutationTest, DamageIsFoundOrHarmless) {
  std::mt19937 random(2026);
  int rejected = 0, accepted = 0;
  for (int i = 0; i < mutations && !HasFailure(); ++i) {
    const Original &original = originals()[random() % originals().size()];
    Mutator mutant(original.job, unsigned(random()), /*places=*/1);
    const Verdict verdict = check(mutant.job);
    EXPECT_EQ(verdict.isSafe(), isEquivalent(original, mutant.job, random))
        << original.name << ", mutation " << i << ": " << mutant.what << "\n"
        << print(verdict, "mutant");
    ++(verdict.isSafe() ? accepted : rejected);
  }
  std::cout << mutations << " mutations of " << originals().size()
            << " timelines: " << rejected << " rejected, " << accepted
            << " equivalent\n";
  EXPECT_GT(rejected, mutations / 2);
  EXPECT_GT(accepted, 0);
}

// Two mistakes may hide each other. They may also be none that shows in a run,
// as the same wrong size at both ends.
TEST(MutationTest, WhatIsAcceptedRuns) {
  std::mt19937 random(7);
  int accepted = 0;
  for (int i = 0; i < mutations && !HasFailure(); ++i) {
    const Original &original = originals()[random() % originals().size()];
    Mutator mutant(original.job, unsigned(random()),
                   /*places=*/2 + int(random() % 2));
    if (!check(mutant.job).isSafe())
      continue;
    ++accepted;
    EXPECT_TRUE(isEquivalent(original, mutant.job, random))
        << original.name << ", mutation " << i << ": " << mutant.what;
  }
  EXPECT_GT(accepted, 0);
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string_view option = "--mutations=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(option))
      mutations = std::stoi(argv[i] + option.size());
  }
  return RUN_ALL_TESTS();
}
