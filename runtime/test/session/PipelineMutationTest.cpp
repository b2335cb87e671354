//===- PipelineMutationTest.cpp - Damaged timelines are refused -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan whose rows or messages were damaged is refused when it is loaded, or
// it computes the bits of the whole one.
//
//===----------------------------------------------------------------------===//

#include "PipelinePlan.h"
#include "weft/runtime/Session.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace weft::runtime {
namespace {

using Random = std::mt19937;

size_t below(Random &random, size_t limit) { return random() % limit; }

void damageRow(Random &random, plan::TimelineT &timeline) {
  auto &row = timeline.rows[below(random, timeline.rows.size())]->actions;
  const size_t at = below(random, row.size());
  const plan::Action action = row[at];
  switch (below(random, 7)) {
  case 0:
    std::swap(row[at], row[std::min(row.size() - 1, at + 1 + random() % 4)]);
    break;
  case 1:
    row.erase(row.begin() + at);
    row.insert(row.begin() + below(random, row.size() + 1), action);
    break;
  case 2:
    row.erase(row.begin() + at);
    break;
  case 3:
    row.insert(row.begin() + below(random, row.size() + 1), action);
    break;
  case 4:
    row[at] = {action.kind(), action.index(),
               uint32_t(below(random, timeline.microbatches + 1))};
    break;
  case 5:
    row[at] = {action.kind(), uint32_t(below(random, 16)), action.microbatch()};
    break;
  default:
    row[at] = {static_cast<plan::ActionKind>(below(random, 3)), action.index(),
               action.microbatch()};
  }
}

/// Of either end, often one of the same type.
void retarget(Random &random, PipelinePlan &plan, plan::MessageT &message) {
  const bool isSource = below(random, 2) == 0;
  const uint32_t role =
      isSource ? message.source_role : message.destination_role;
  std::vector<uint32_t> states;
  for (uint32_t i = 0; i < plan.table.states.size(); ++i)
    if (plan.table.states[i]->role.value_or(role) == role)
      states.push_back(i);
  (isSource ? message.source_states : message.destination_states)[0] =
      states[below(random, states.size())];
}

void damageMessage(Random &random, PipelinePlan &plan) {
  plan::TimelineT &timeline = plan.step().timeline();
  plan::MessageT &message =
      *timeline.messages[below(random, timeline.messages.size())];
  switch (below(random, 5)) {
  case 0:
    message.queue = below(random, timeline.messages.size());
    break;
  case 1:
    message.source_role = below(random, timeline.rows.size());
    break;
  case 2:
    message.destination_role = below(random, timeline.rows.size());
    break;
  case 3:
    retarget(random, plan, message);
    break;
  default:
    message.kind = static_cast<plan::MessageKind>(below(random, 4));
  }
}

/// What a segment does that goes on beside others, and from where on it is put
/// off.
void damageReduction(Random &random, PipelinePlan &plan) {
  const uint32_t pipe = plan.group({"pipe"});
  const std::string name =
      PipelinePlan::of("reduce", uint32_t(below(random, plan.roles)));
  plan::EntryT &entry = **std::ranges::find_if(
      plan.table.entries, [&](const auto &each) { return each->name == name; });
  auto &instructions = entry.instructions;
  switch (below(random, 4)) {
  case 0:
    entry.deferred_from = uint32_t(below(random, instructions.size() + 1));
    break;
  case 1:
    entry.deferred_from = flatbuffers::nullopt;
    break;
  case 2: {
    // The start or the wait.
    const bool isStart = below(random, 2) == 0;
    std::erase_if(instructions, [&](const auto &each) {
      return isStart ? each->operation.AsCollectiveStart() != nullptr
                     : each->operation.AsCollectiveWait() != nullptr;
    });
    break;
  }
  default:
    for (auto &each : instructions)
      if (auto *start = each->operation.AsCollectiveStart())
        start->group = pipe;
  }
}

std::vector<float> resultsOf(const Plan &plan, uint32_t roles,
                             uint32_t microbatches, int64_t data) {
  SessionOptions options;
  options.deadline = std::chrono::seconds(20);
  auto session = Session::create(plan, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  if (!session.ok())
    return {};
  Session &job = **session;
  std::vector<std::string> states = {"t"};
  for (uint32_t role = 0; role < roles; ++role)
    states.push_back(PipelinePlan::of("w", role));
  for (size_t i = 0; i < states.size(); ++i)
    EXPECT_EQ(job.setState(states[i], countingArray({16}, 0.5f * float(i + 1))),
              Status());
  EXPECT_EQ(job.setInput("step", "x",
                         countingArray({microbatches, 16 * data}, 0.25f)),
            Status());
  for (int step = 0; step < 2; ++step)
    EXPECT_EQ(job.run("step"), Status());
  std::vector<float> results;
  states.insert(states.end(), {"out", "loss"});
  for (const std::string &name : states) {
    const auto value = job.getOutput(name);
    EXPECT_TRUE(value.ok()) << value.status().message();
    const std::vector<float> numbers = floats(*value);
    results.insert(results.end(), numbers.begin(), numbers.end());
  }
  return results;
}

struct Counts {
  int accepted = 0, refused = 0;
};

/// A thousand damaged plans of each size.
void damageAll(const std::vector<std::pair<uint32_t, uint32_t>> &sizes,
               int64_t data, Reductions reductions, Counts &counts) {
  for (const auto &[roles, microbatches] : sizes)
    for (Receives receives : {Receives::BeforeUse, Receives::WhenSent}) {
      const auto make = [&] {
        return PipelinePlan(roles, microbatches, data, receives, reductions);
      };
      const std::vector<float> expected =
          resultsOf(make().build(), roles, microbatches, data);
      Random random(roles * 100 + microbatches);
      for (int round = 0; round < 1000; ++round) {
        PipelinePlan plan = make();
        plan::TimelineT &timeline = plan.step().timeline();
        for (size_t damages = 1 + below(random, 3); damages > 0; --damages)
          if (below(random, 8) == 0)
            damageMessage(random, plan);
          else if (reductions == Reductions::Early && below(random, 3) == 0)
            damageReduction(random, plan);
          else
            damageRow(random, timeline);
        const auto loaded = Plan::parse(plan.bytes());
        ++(loaded.ok() ? counts.accepted : counts.refused);
        if (loaded.ok())
          ASSERT_EQ(resultsOf(*loaded, roles, microbatches, data), expected)
              << roles << " roles, " << microbatches << " micro-batches, round "
              << round;
      }
    }
}

TEST(PipelineMutation, IsRefusedOrComputesTheSame) {
  Counts counts;
  damageAll({{2, 1}, {2, 2}, {3, 2}, {3, 5}, {4, 3}}, 1, Reductions::InUpdate,
            counts);
  EXPECT_EQ(counts.accepted + counts.refused, 10000);
  EXPECT_GT(counts.accepted, 100);
  EXPECT_GT(counts.refused, 5000);
}

TEST(PipelineMutation, ReductionsInFlightAreRefusedOrComputeTheSame) {
  Counts counts;
  damageAll({{2, 1}, {2, 2}, {3, 2}, {3, 5}, {4, 3}}, 2, Reductions::Early,
            counts);
  EXPECT_EQ(counts.accepted + counts.refused, 10000);
  EXPECT_GT(counts.accepted, 100);
  EXPECT_GT(counts.refused, 5000);
}

} // namespace
} // namespace weft::runtime
