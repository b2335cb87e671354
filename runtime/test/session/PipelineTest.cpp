//===- PipelineTest.cpp - Timelines on ranks of this process --------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelinePlan.h"
#include "weft/runtime/Session.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

namespace weft::runtime {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

/// A session and what it must compute.
struct Job {
  explicit Job(const PipelinePlan &plan, SessionOptions options = {})
      : reference(plan.roles, plan.microbatches, plan.data),
        x(countingArray({plan.microbatches, 16 * plan.data}, 0.25f)) {
    auto created = Session::create(plan.build(), options);
    EXPECT_TRUE(created.ok()) << created.status().message();
    session = *std::move(created);
    for (uint32_t role = 0; role < plan.roles; ++role) {
      const Array w = countingArray({16}, 0.5f * static_cast<float>(role + 1));
      std::copy_n(floats(w).begin(), 16, reference.w[role].begin());
      EXPECT_EQ(session->setState(PipelinePlan::of("w", role), w), Status());
    }
    const Array t = countingArray({16}, 3);
    std::copy_n(floats(t).begin(), 16, reference.t.begin());
    EXPECT_EQ(session->setState("t", t), Status());
    EXPECT_EQ(session->setInput("step", "x", x), Status());
  }

  void step() {
    ASSERT_EQ(session->run("step"), Status());
    reference.step(floats(x));
    EXPECT_EQ(value("out"), reference.out);
    EXPECT_EQ(value("loss"), std::vector<float>{reference.loss});
    for (uint32_t role = 0; role < reference.w.size(); ++role)
      EXPECT_THAT(value(PipelinePlan::of("w", role)),
                  ElementsAreArray(reference.w[role]));
    EXPECT_THAT(value("t"), ElementsAreArray(reference.t));
  }
  std::vector<float> value(const std::string &name) const {
    const Result<Array> array = session->getOutput(name);
    EXPECT_TRUE(array.ok()) << array.status().message();
    return array.ok() ? floats(*array) : std::vector<float>();
  }

  PipelineReference reference;
  Array x;
  std::unique_ptr<Session> session;
};

TEST(Pipeline, ComputesWhatOneRankWould) {
  for (uint32_t roles : {2, 3, 4})
    for (uint32_t microbatches : {1, 2, 5, 8})
      for (int64_t data : {1, 2}) {
        SCOPED_TRACE(testing::Message() << roles << " roles, " << microbatches
                                        << " micro-batches, data " << data);
        for (Receives receives : {Receives::BeforeUse, Receives::WhenSent}) {
          Job job(PipelinePlan(roles, microbatches, data, receives));
          for (int step = 0; step < 3; ++step)
            job.step();
        }
      }
}

// Beside a reduction runs another one, and both carry collectives of one group.
TEST(Pipeline, ReductionsGoOnBesideOtherSegments) {
  for (uint32_t roles : {2, 3})
    for (uint32_t microbatches : {1, 4})
      for (int64_t data : {1, 2, 3}) {
        SCOPED_TRACE(testing::Message() << roles << " roles, " << microbatches
                                        << " micro-batches, data " << data);
        Job job(PipelinePlan(roles, microbatches, data, Receives::BeforeUse,
                             Reductions::Early));
        for (int step = 0; step < 20; ++step)
          job.step();
      }
}

TEST(Pipeline, SameBitsInEveryRun) {
  Job job(PipelinePlan(4, 6));
  for (int step = 0; step < 200 && !HasFailure(); ++step)
    job.step();
}

TEST(Pipeline, ListsWhatUsersSee) {
  const Plan plan = PipelinePlan(2, 4).build();
  std::vector<std::string> entries, states;
  for (const EntrySpec &entry : plan.entries())
    entries.push_back(entry.name);
  for (const ValueSpec &state : plan.states())
    states.push_back(state.name);
  EXPECT_THAT(entries, ElementsAre("init", "step"));
  EXPECT_THAT(states, ElementsAre("seed", "w0", "t", "w1"));
  EXPECT_EQ(plan.entry("forward0"), nullptr);
}

TEST(Pipeline, SegmentsAreNotRun) {
  Job job(PipelinePlan(2, 4));
  EXPECT_THAT(job.session->run("forward0").message(),
              HasSubstr("the plan has no entry \"forward0\"; it has: init, "
                        "step"));
  EXPECT_THAT(job.session->setState("sum", countingArray({16})).message(),
              HasSubstr("the plan has no state \"sum\""));
}

TEST(Pipeline, RolesHaveTheirOwnMemory) {
  PipelinePlan plan(3, 6);
  Job job(plan);
  std::vector<uint64_t> expected;
  for (const auto &role : plan.table.pipeline->roles)
    expected.push_back(role->arena_bytes);
  EXPECT_EQ(job.session->arenaBytes(), expected);
  EXPECT_NE(expected[0], expected[1]);
  // All ranks execute an entry that is no timeline.
  ASSERT_EQ(job.session->run("init"), Status());
  EXPECT_EQ(job.value("seed")[5], 5);
  SessionOptions options;
  options.memoryLimit = 100;
  EXPECT_THAT(Session::create(plan.build(), options).status().message(),
              HasSubstr(fmt::format("3 ranks need arenas of {} bytes or less, "
                                    "together {} bytes, but 100 are available",
                                    plan.table.arena_bytes,
                                    expected[0] + expected[1] + expected[2])));
}

TEST(Pipeline, ShardsAreOfTheRolesThatHaveThem) {
  Job job(PipelinePlan(2, 2, 2));
  job.step();
  // Ranks 0 and 1 are roles of data 0; role 1 has the output, and gives it for
  // both. So inputs can be given as shards, and outputs taken.
  std::vector<Array> shards;
  for (int64_t rank = 0; rank < 4; ++rank) {
    const Result<Array> shard = job.session->getShard("out", rank);
    ASSERT_TRUE(shard.ok()) << shard.status().message();
    EXPECT_EQ(shard->as<float>()[0], job.reference.out[rank / 2 * 16]);
    shards.push_back(*shard);
  }
  const std::vector<ArrayView> parts(shards.begin(), shards.end());
  ASSERT_EQ(job.session->setInputShards("step", "x", parts), Status());
  job.x = Array(DType::F32, {2, 32});
  std::ranges::copy(job.reference.out, job.x.as<float>().begin());
  job.step();
  // Both roles have the tied parameter.
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_THAT(floats(*job.session->getShard("t", rank)),
                ElementsAreArray(job.reference.t));
}

TEST(Pipeline, CountsAreThereFromTheLoad) {
  PlanBuilder builder({{"pipe", 2}});
  builder.pipeline("pipe");
  const auto number = builder.type(DType::I32, {});
  constexpr uint32_t microbatches = 3;
  builder.state(
      "count", number,
      {.role = 1, .slots = microbatches, .isInternal = true, .counts = true});
  builder.state("seen", number,
                {.role = 1, .slots = microbatches, .isInternal = true});
  EntryBuilder copy = builder.segment("copy", 1);
  copy.copy(copy.state("count", true, false), copy.state("seen", false, true));
  TimelineBuilder step = builder.timeline("step", microbatches);
  for (uint32_t i = 0; i < microbatches; ++i) {
    step.run(1, "copy", i);
    step.output(PipelinePlan::of("seen", i), number, {{1, "seen"}});
    step.table().buffers.back()->offset += uint64_t(i) * 64;
  }
  auto session = Session::create(builder.build());
  ASSERT_TRUE(session.ok()) << session.status().message();
  ASSERT_EQ((*session)->run("step"), Status());
  for (int32_t i : {0, 1, 2})
    EXPECT_EQ(
        (*session)->getOutput(PipelinePlan::of("seen", i))->as<int32_t>()[0],
        i);
}

TEST(Pipeline, RoleThatDoesNotSend) {
  PipelinePlan plan(2, 2);
  for (const auto &entry : plan.table.entries)
    if (entry->name == "begin1")
      EntryBuilder(plan, &entry - plan.table.entries.data())
          .launch("sleepOnOne", {{0, update}}, {{"pipe"}});
  SessionOptions options;
  options.deadline = std::chrono::milliseconds(100);
  Job job(plan, options);
  const Status status = job.session->run("step");
  EXPECT_EQ(status.code(), StatusCode::DeadlineExceeded);
  EXPECT_EQ(status.message(),
            "role 0 action 5: receive of message 1 \"gradient of stage 0\" "
            "(micro-batch 0) on rank 0: rank 1 did not send it within 100 ms; "
            "rank 0 is in role 0 action 6 (micro-batch 0), message 1 "
            "\"gradient of stage 0\", rank 1 is in role 1 action 0 "
            "(micro-batch 0), segment \"begin1\" step 1 launch");
  EXPECT_EQ(job.session->run("step"), status);
  job.session.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
}

TEST(Pipeline, Trace) {
  SessionOptions options;
  options.traceRuns = 1;
  Job job(PipelinePlan(2, 2), options);
  job.step();
  const std::string path = testing::TempDir() + "/pipeline-trace.json";
  ASSERT_EQ(job.session->writeTrace(path), Status());
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file);
  std::vector<std::string> segments, messages;
  double begin = 1e9, end = 0, inSegments = 0, inBubbles = 0;
  for (const auto &event : json.at("traceEvents")) {
    if (event.at("ph") != "X")
      continue;
    const bool isBubble = event.value("cat", "") == "bubble";
    const double from = event.at("ts"), duration = event.at("dur");
    if (!isBubble && !event.at("args").contains("message")) {
      begin = std::min(begin, from);
      end = std::max(end, from + duration);
    }
    if (event.at("pid") != 1)
      continue;
    if (isBubble) {
      inBubbles += duration;
      continue;
    }
    const auto &args = event.at("args");
    EXPECT_EQ(args.at("role"), 1);
    EXPECT_TRUE(args.contains("microbatch"));
    if (args.contains("message"))
      messages.push_back(event.at("name"));
    else if (!args.contains("step")) {
      segments.push_back(event.at("name"));
      inSegments += duration;
    }
  }
  EXPECT_THAT(segments,
              ElementsAre("begin1 0", "forward1 0", "backward1 0", "forward1 1",
                          "backward1 1", "update1 0", "finish 0"));
  // At least until the first activation is there; gaps of less than a
  // microsecond are none.
  EXPECT_GT(inBubbles, 0);
  EXPECT_NEAR(inSegments + inBubbles, end - begin, 8);
  EXPECT_THAT(messages,
              ElementsAre("activation of stage 0", "activation of stage 0",
                          "tied parameter", "gradient of stage 0",
                          "gradient of stage 0"));
}

} // namespace
} // namespace weft::runtime
