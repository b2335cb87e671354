//===- FailureTest.cpp - Ranks and machines that fail -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SamplePlan.h"
#include "weft/runtime/Session.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

namespace weft::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using namespace std::chrono_literals;

Status creationStatus(const PlanBuilder &builder, SessionOptions options = {}) {
  return Session::create(builder.build(), options).status();
}

TEST(Failure, OtherTarget) {
  SamplePlan sample(2);
  sample.table.target->kind = "abacus";
  const Status status = creationStatus(sample);
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(status.message(),
              HasSubstr("the plan is for target \"abacus\", this "
                        "runtime executes \"cpu\" and \"cuda\""));
}

TEST(Failure, NoMachineCode) {
  SamplePlan sample(2);
  sample.table.target->kind = "none";
  sample.table.object.clear();
  const Status status = creationStatus(sample);
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(status.message(),
              HasSubstr("the plan has no machine code: it was compiled for "
                        "target \"none\", to be looked at; compile it for a "
                        "processor to run it"));
}

TEST(Failure, MissingFeatures) {
  SamplePlan sample(2);
  sample.table.target->processor = "future";
  sample.table.target->features = {"sse2", "levitation"};
  const Status status = creationStatus(sample);
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("processor \"future\""),
                                      HasSubstr("levitation")));
}

TEST(Failure, TooManyRanks) {
  PlanBuilder builder({{"data", 5000}});
  EXPECT_THAT(creationStatus(builder).message(),
              HasSubstr("the plan is for 5000 ranks, one process runs at most "
                        "1024"));
}

TEST(Failure, NoThreadsForProducts) {
  SessionOptions options;
  options.threads = 0;
  EXPECT_THAT(creationStatus(SamplePlan(1), options).message(),
              HasSubstr("0 threads for each rank, need at least 1"));
}

TEST(Failure, NotEnoughMemory) {
  SessionOptions options;
  options.memoryLimit = 1000;
  Status status = creationStatus(SamplePlan(4), options);
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(status.message(),
              HasSubstr("4 ranks need arenas of 384 bytes each, together 1536 "
                        "bytes, but 1000 are available"));
  SamplePlan huge(2);
  huge.table.arena_bytes = UINT64_MAX;
  EXPECT_EQ(creationStatus(huge).code(), StatusCode::ResourceExhausted);
  // More than an address space has, within a limit that was promised.
  huge.table.arena_bytes = uint64_t(1) << 60;
  options.memoryLimit = UINT64_MAX;
  EXPECT_THAT(creationStatus(huge, options).message(),
              HasSubstr("cannot allocate an arena of 1152921504606846976 "
                        "bytes"));
}

TEST(Failure, KernelsThatDoNotLoad) {
  SamplePlan sample(2);
  sample.table.kernels[1]->symbol = "subtract";
  EXPECT_THAT(creationStatus(sample).message(),
              HasSubstr("the plan's object does not define kernel "
                        "\"subtract\""));
  SamplePlan noSegments(2);
  noSegments.table.object[56] = 0; // no program headers
  noSegments.table.object[57] = 0;
  EXPECT_THAT(creationStatus(noSegments).message(),
              HasSubstr("cannot load the kernels of the plan"));
}

/// The sample whose rank 1 sleeps for a second before the all_reduce.
SamplePlan sleepingSample(int64_t ranks) {
  SamplePlan sample(ranks);
  plan::LaunchT &launch = *sample.instruction(0).operation.AsLaunch();
  launch.kernel = sample.kernel("sleepOnOne");
  launch.buffers = {sample.t, sample.s};
  launch.access = {write, write};
  launch.positions.push_back(sample.axes({"data"}));
  return sample;
}

TEST(Failure, RankThatDoesNotArrive) {
  SessionOptions options;
  options.deadline = 100ms;
  auto session = Session::create(sleepingSample(4).build(), options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  ASSERT_TRUE((*session)->run("init").ok());
  ASSERT_TRUE(
      (*session)->setInput("train_step", "x", countingArray({64})).ok());
  const auto begin = std::chrono::steady_clock::now();
  const Status status = (*session)->run("train_step");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 900ms);
  EXPECT_EQ(status.code(), StatusCode::DeadlineExceeded);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("step 1 all_reduce on rank "),
                    HasSubstr("rank 1 did not arrive within"),
                    HasSubstr("gradient of w, summed over data"),
                    HasSubstr("rank 1 is in step 0 launch")));
  // A failure is final.
  EXPECT_EQ((*session)->run("init"), status);
  EXPECT_EQ((*session)->run("train_step"), status);
  // The session can be left while rank 1 still sleeps.
  session->reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 900ms);
  std::this_thread::sleep_for(1500ms); // it wakes up and finds its memory
}

TEST(Failure, SlowRankWithinTheDeadline) {
  auto session = Session::create(sleepingSample(2).build());
  ASSERT_TRUE(session.ok()) << session.status().message();
  ASSERT_TRUE((*session)->run("init").ok());
  ASSERT_TRUE(
      (*session)->setInput("train_step", "x", countingArray({32})).ok());
  EXPECT_TRUE((*session)->run("train_step").ok());
}

/// Also when a thread beside the rank's carries the collective.
TEST(Failure, RankThatDoesNotArriveBeside) {
  constexpr int64_t count = 32768;
  PlanBuilder builder({{"data", 2}});
  const uint32_t group = builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x = entry.output("x", builder.type(DType::F32, {count}));
  const uint32_t y = entry.output("y", builder.type(DType::F32, {16}));
  entry.launch("sleepOnOne", {{x, write}}, {{"data"}});
  entry.start(plan::CollectiveKind::AllReduce, group, x, x, 1, count);
  entry.launch("fill", {{y, write}}, {{}, {}});
  entry.wait(0);
  SessionOptions options;
  options.deadline = 50ms;
  auto session = Session::create(builder.build(), options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_THAT((*session)->run("e").message(),
              AllOf(HasSubstr("step 1 all_reduce on rank 0: rank 1 did not "
                              "arrive within"),
                    HasSubstr("rank 0 is in step 3 wait"),
                    HasSubstr("rank 1 is in step 0 launch")));
  session->reset();
  std::this_thread::sleep_for(1200ms);
}

/// Also when no thread of its own carries the collective.
TEST(Failure, RankThatDoesNotArriveInline) {
  PlanBuilder builder({{"data", 2}});
  const uint32_t group = builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x = entry.output("x", builder.type(DType::F32, {16}));
  entry.launch("sleepOnOne", {{x, write}}, {{"data"}});
  entry.start(plan::CollectiveKind::AllReduce, group, x, x, 1, 16);
  entry.wait(0);
  SessionOptions options;
  options.deadline = 50ms;
  auto session = Session::create(builder.build(), options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  EXPECT_THAT((*session)->run("e").message(),
              AllOf(HasSubstr("step 1 all_reduce on rank 0: rank 1 did not "
                              "arrive within"),
                    HasSubstr("rank 1 is in step 0 launch")));
  session->reset();
  std::this_thread::sleep_for(1200ms);
}

} // namespace
} // namespace weft::runtime
