//===- ProcessTest.cpp - Sessions and the process they are in ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads that sessions share, forked children, and interrupts.
//
//===----------------------------------------------------------------------===//

#include "SamplePlan.h"
#include "weft/runtime/Session.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <limits>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace weft::runtime {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

std::unique_ptr<Session> createSession(const PlanBuilder &builder,
                                       const SessionOptions &options = {}) {
  auto session = Session::create(builder.build(), options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return *std::move(session);
}

/// The loss of one more step of the sample.
Result<float> step(Session &session, int64_t ranks) {
  WEFT_RETURN_IF_ERROR(session.run("init"));
  WEFT_RETURN_IF_ERROR(
      session.setInput("train_step", "x", countingArray({16 * ranks}, 0)));
  WEFT_RETURN_IF_ERROR(session.run("train_step"));
  WEFT_ASSIGN_OR_RETURN(const Array loss, session.getOutput("loss"));
  return loss.as<float>()[0];
}

int64_t threadCount() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       {});
}

/// What `body` returns in a forked child that has 30 s for it.
template <typename Body> int inForkedChild(Body &&body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Process, SessionsShareThreads) {
  const int64_t before = threadCount();
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 20; ++i) {
    sessions.push_back(createSession(SamplePlan(8)));
    EXPECT_EQ(*step(*sessions.back(), 8), 960);
  }
  for (const auto &session : sessions)
    EXPECT_EQ(*step(*session, 8), 960);
  EXPECT_LE(threadCount(), before + 8);
  sessions.clear();
  EXPECT_EQ(threadCount(), before);
}

/// One entry that fills an output.
PlanBuilder fillingPlan(int64_t ranks) {
  PlanBuilder builder({{"data", ranks}});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x = entry.output("x", builder.type(DType::F32, {16}));
  entry.launch("fill", {{x, write}}, {{}, {}});
  return builder;
}

/// One entry of a collective over `count` floats of each rank, and of a launch
/// that may run beside it.
PlanBuilder overlappingPlan(int64_t ranks, int64_t count) {
  PlanBuilder builder({{"data", ranks}});
  const uint32_t group = builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x =
      entry.input("x", builder.type(DType::F32, {count * ranks}, {{"data"}}));
  const uint32_t sum = entry.output("sum", builder.type(DType::F32, {count}));
  const uint32_t y = entry.output("y", builder.type(DType::F32, {16}));
  entry.start(plan::CollectiveKind::AllReduce, group, x, sum, 1, count);
  entry.launch("fill", {{y, write}}, {{}, {}});
  entry.wait(0);
  return builder;
}

/// Large collectives run beside the computation, small ones in its thread.
TEST(Process, ThreadsThatCarryCollectives) {
  constexpr int64_t ranks = 3;
  for (const int64_t count : {8192, 8256}) {
    const int64_t before = threadCount();
    SessionOptions options;
    options.traceRuns = 1;
    const auto session = createSession(overlappingPlan(ranks, count), options);
    EXPECT_EQ(threadCount(), before + ranks * (count > 8192 ? 2 : 1));
    ASSERT_TRUE(
        session->setInput("e", "x", countingArray({count * ranks})).ok());
    for (int run = 0; run < 3; ++run) {
      ASSERT_TRUE(session->run("e").ok());
      const Array sum = *session->getOutput("sum");
      for (const int64_t i : {int64_t(0), int64_t(5), count - 1})
        EXPECT_EQ(sum.as<float>()[i], ranks * (count + i));
      EXPECT_EQ(session->getOutput("y")->as<float>()[15], 15);
    }
    const std::string path = testing::TempDir() + "/carried-trace.json";
    ASSERT_TRUE(session->writeTrace(path).ok());
    std::vector<int> steps[2];
    const auto json = nlohmann::json::parse(std::ifstream(path));
    for (const auto &event : json.at("traceEvents"))
      if (event.at("ph") == "X" && event.at("pid") == 1)
        steps[event.at("tid").get<int>()].push_back(
            event.at("args").at("step").get<int>());
    EXPECT_THAT(steps[0], testing::UnorderedElementsAre(1, 2));
    EXPECT_THAT(steps[1], testing::ElementsAre(0));
    std::remove(path.c_str());
  }
}

TEST(Process, AnOnlyRankRunsInTheThreadOfItsCaller) {
  const int64_t before = threadCount();
  const auto session = createSession(fillingPlan(1));
  ASSERT_TRUE(session->run("e").ok());
  EXPECT_EQ(threadCount(), before);
  EXPECT_EQ(session->getOutput("x")->as<float>()[15], 15);
  // Another thread may call next.
  std::thread([&] { EXPECT_TRUE(session->run("e").ok()); }).join();
  EXPECT_EQ(threadCount(), before);
}

TEST(Process, AForkedChildRunsAnOnlyRank) {
  for (const int threads : {1, 3}) {
    SessionOptions options;
    options.threads = threads;
    const auto session = createSession(SamplePlan(1), options);
    ASSERT_EQ(*step(*session, 1), 120);
    const auto filling = createSession(fillingPlan(1), options);
    ASSERT_TRUE(filling->run("e").ok());
    EXPECT_EQ(inForkedChild([&] {
                return *step(*session, 1) == 120 && filling->run("e").ok() ? 7
                                                                           : 1;
              }),
              7);
  }
}

TEST(Process, AForkedChildRunsASessionThatHasRun) {
#if defined(__SANITIZE_THREAD__)
  // Threads of the child have the addresses of the parent's.
  GTEST_SKIP() << "the thread sanitizer takes the child's threads for others";
#endif
  const auto session = createSession(SamplePlan(4));
  ASSERT_EQ(*step(*session, 4), 480);
  EXPECT_EQ(inForkedChild([&] {
              const auto own = createSession(SamplePlan(2));
              return *step(*session, 4) == 480 && *step(*own, 2) == 240 ? 7 : 1;
            }),
            7);
  EXPECT_EQ(*step(*session, 4), 480);
}

TEST(Process, AForkedChildLeavesHelpersToItsParent) {
  SessionOptions options;
  options.threads = 3;
  auto session = createSession(SamplePlan(2), options);
  ASSERT_EQ(*step(*session, 2), 240);
  EXPECT_EQ(inForkedChild([&] {
              const bool isRight = *step(*session, 2) == 240;
              session.reset();
              return isRight ? 7 : 1;
            }),
            7);
}

/// One entry that sleeps for four seconds in all.
PlanBuilder sleepingPlan(int64_t ranks) {
  PlanBuilder builder({{"data", ranks}});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x = entry.output("x", builder.type(DType::F32, {16}));
  for (int i = 0; i < 4; ++i)
    entry.launch(ranks == 1 ? "sleepOnAll" : "sleepOnOne", {{x, write}},
                 {{"data"}});
  return builder;
}

/// Of one rank, in the thread of the caller, and of two.
class RunOf : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Process, RunOf, testing::Values(1, 2));

TEST_P(RunOf, AForkedChildSaysSo) {
  const auto session = createSession(sleepingPlan(GetParam()));
  std::thread runner([&] { EXPECT_TRUE(session->run("e").ok()); });
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(inForkedChild([&] {
              const Status status = session->run("e");
              return status.message().find("is of the process that this one "
                                           "was forked from") !=
                             std::string::npos
                         ? 7
                         : 1;
            }),
            7);
  runner.join();
}

TEST_P(RunOf, AnInterruptStopsTheRanks) {
  SessionOptions options;
  int asked = 0;
  options.isInterrupted = [&] { return ++asked == 2; };
  const auto session = createSession(sleepingPlan(GetParam()), options);
  const auto begin = std::chrono::steady_clock::now();
  const Status status = session->run("e");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_THAT(status.message(),
              HasSubstr("the session was interrupted in a run, and its states "
                        "may be half updated; create a new session"));
  EXPECT_EQ(session->run("e"), status);
}

/// Threads get the default attributes: stacks that no address space has room
/// for.
TEST(Process, ThreadsThatCannotBeStarted) {
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  pthread_attr_init(&huge);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t(1) << 46), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  const Status status = Session::create(SamplePlan(2).build(), {}).status();
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("cannot start 2 threads: "));
  EXPECT_EQ(*step(*createSession(SamplePlan(2)), 2), 240);
}

TEST(Process, Deadlines) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(*deadlineOf(0.5), 500ms);
  EXPECT_EQ(*deadlineOf(1e9), 1000000000s);
  EXPECT_EQ(*deadlineOf(infinity), std::chrono::nanoseconds::max());
  for (const double wrong : {0.0, -1.0, -infinity, 1e300, 1e-9, double(NAN)})
    EXPECT_THAT(deadlineOf(wrong).status().message(),
                HasSubstr("deadline must be from 0.001 to 1e9 seconds or "
                          "infinity, got "));
  SessionOptions options;
  options.deadline = std::chrono::nanoseconds::max();
  EXPECT_EQ(*step(*createSession(SamplePlan(2), options), 2), 240);
  options.deadline = -1ns;
  EXPECT_THAT(
      Session::create(SamplePlan(2).build(), options).status().message(),
      HasSubstr("a deadline of -1 ns, must be positive"));
  options = {};
  options.traceRuns = -1;
  EXPECT_THAT(
      Session::create(SamplePlan(2).build(), options).status().message(),
      HasSubstr("-1 runs to trace, need at least 0"));
}

} // namespace
} // namespace weft::runtime
