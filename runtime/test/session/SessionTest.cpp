//===- SessionTest.cpp - Plans are executed ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/Session.h"
#include "SamplePlan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <numeric>

namespace weft::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<Session> makeSession(const PlanBuilder &builder,
                                     SessionOptions options = {}) {
  auto session = Session::create(builder.build(), options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return *std::move(session);
}

/// What the sample's train_step does, on the whole tensors.
float expectedStep(std::vector<float> &w, const std::vector<float> &x) {
  float loss = 0;
  std::vector<float> sum(16, 0);
  for (size_t i = 0; i < x.size(); ++i) {
    sum[i % 16] += x[i] + w[i % 16];
    loss += x[i] + w[i % 16];
  }
  for (size_t i = 0; i < 16; ++i)
    w[i] += sum[i];
  return loss;
}

/// Loops in loops, with a collective in each iteration.
TEST(Session, LoopsAreExecuted) {
  for (int64_t ranks : {1, 2}) {
    PlanBuilder builder({{"data", ranks}});
    const uint32_t group = builder.group({"data"});
    EntryBuilder step = builder.entry("step");
    const auto floats4 = builder.type(DType::F32, {4});
    const uint32_t x = step.input("x", floats4);
    const uint32_t y = step.output("y", floats4);
    step.copy(x, y);
    step.repeat(3, 5);
    step.repeat(2, 2);
    step.launch("twice", {{y, update}});
    step.launch("twice", {{y, update}});
    step.start(plan::CollectiveKind::AllReduce, group, y, y, 1, 4);
    step.wait(0);
    const auto session = makeSession(builder);
    ASSERT_TRUE(session->setInput("step", "x", countingArray({4})).ok());
    for (int run = 0; run < 2; ++run) {
      const Status status = session->run("step");
      ASSERT_TRUE(status.ok()) << status.message();
      float factor = 1;
      for (int i = 0; i < 3; ++i)
        factor *= 16 * ranks;
      EXPECT_THAT(floats(*session->getOutput("y")),
                  ElementsAre(0, factor, 2 * factor, 3 * factor));
    }
  }
}

/// y = 2^3 x, reduced beside the rest of the last iteration; z follows in the
/// loop. Large enough for a thread, and small.
TEST(Session, ReductionsBesideTheLastIteration) {
  for (int64_t size : {4, 1 << 15}) {
    PlanBuilder builder({{"data", 2}});
    const uint32_t data = builder.group({"data"});
    EntryBuilder step = builder.entry("step");
    const auto type = builder.type(DType::F32, {size});
    const uint32_t x = step.input("x", type), y = step.output("y", type);
    const uint32_t z = step.output("z", type);
    step.copy(x, y);
    step.copy(x, z);
    step.repeat(3, 2);
    step.launch("twice", {{y, update}});
    step.launch("twice", {{z, update}});
    auto &first =
        step.start(plan::CollectiveKind::AllReduce, data, y, y, 1, size);
    auto &second =
        step.start(plan::CollectiveKind::AllReduce, data, z, z, 1, size);
    step.wait(0);
    step.wait(1);
    first.behind = 3;
    second.behind = 4;
    const auto session = makeSession(builder);
    ASSERT_TRUE(session->setInput("step", "x", countingArray({size})).ok());
    for (int run = 0; run < 3; ++run) {
      const Status status = session->run("step");
      ASSERT_TRUE(status.ok()) << status.message();
      for (const char *name : {"y", "z"}) {
        const auto sums = floats(*session->getOutput(name));
        for (int64_t i = 0; i < size; ++i)
          // The kernel is one of 16 numbers.
          ASSERT_EQ(sums[i], (i < 16 ? 16.0f : 2.0f) * static_cast<float>(i))
              << name << i;
      }
    }
  }
}

struct RanksTest : testing::TestWithParam<int> {};

TEST_P(RanksTest, SampleStepsAreExact) {
  const int ranks = GetParam();
  const auto session = makeSession(SamplePlan(ranks));
  ASSERT_TRUE(session->run("init").ok());
  std::vector<float> w(16);
  std::iota(w.begin(), w.end(), 0.0f);
  for (int step = 0; step < 3; ++step) {
    const Array x = countingArray({16 * ranks}, 0.5f * step);
    ASSERT_TRUE(session->setInput("train_step", "x", x).ok());
    const Status status = session->run("train_step");
    ASSERT_TRUE(status.ok()) << status.message();
    const float loss = expectedStep(w, floats(x));
    EXPECT_EQ(floats(*session->getOutput("loss")), std::vector<float>{loss});
    EXPECT_EQ(floats(*session->getState("w")), w);
    EXPECT_EQ(floats(*session->getOutput("w")), w);
    // The same by number: w, then the loss.
    const uint32_t number = 1;
    const EntrySpec &entry = session->plan().entries()[number];
    ASSERT_EQ(entry.name, "train_step");
    for (uint32_t i = 0; i < entry.outputs.size(); ++i) {
      const Array expected = *session->getOutput(entry.outputs[i].name);
      Array found(expected.dtype, expected.shape);
      ASSERT_TRUE(session->readOutput(i, found.data.data()).ok());
      EXPECT_EQ(floats(found), floats(expected)) << entry.outputs[i].name;
    }
    for (uint32_t i = 0; i < entry.inputs.size(); ++i)
      if (entry.inputs[i].name == "x")
        EXPECT_TRUE(session->setInput(number, i, x).ok());
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(floats(*session->getShard("w", rank)), w) << rank;
  }
}

TEST_P(RanksTest, ManyStepsAreTheSameEveryTime) {
  const int ranks = GetParam();
  std::vector<float> first;
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto session = makeSession(SamplePlan(ranks));
    Array w = countingArray({16}, 1e-20f);
    ASSERT_TRUE(session->setState("w", w).ok());
    ASSERT_TRUE(
        session->setInput("train_step", "x", countingArray({16 * ranks}, 0))
            .ok());
    for (int step = 0; step < 200; ++step)
      ASSERT_TRUE(session->run("train_step").ok());
    if (repeat == 0)
      first = floats(*session->getState("w"));
    else
      EXPECT_EQ(floats(*session->getState("w")), first);
  }
}

/// y = x * w with x split by rows, w by columns: all_gather of w's columns.
TEST_P(RanksTest, ProductOfShards) {
  const int ranks = GetParam();
  const int64_t m = 2 * ranks, k = 3, n = 4 * ranks;
  PlanBuilder builder({{"data", ranks}});
  const uint32_t group = builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x =
      entry.input("x", builder.type(DType::F32, {m, k}, {{"data"}}));
  const uint32_t w =
      entry.input("w", builder.type(DType::F32, {k, n}, {{}, {"data"}}));
  const uint32_t whole = entry.temporary(DType::F32, {k, n});
  const uint32_t y =
      entry.output("y", builder.type(DType::F32, {m, n}, {{"data"}}));
  entry.start(plan::CollectiveKind::AllGather, group, w, whole, k, n / ranks);
  entry.wait(0);
  entry.gemm(x, whole, y, m / ranks, n, k);

  const auto session = makeSession(builder);
  const Array xs = countingArray({m, k}), ws = countingArray({k, n}, 0.25f);
  ASSERT_TRUE(session->setInput("e", "x", xs).ok());
  ASSERT_TRUE(session->setInput("e", "w", ws).ok());
  ASSERT_TRUE(session->run("e").ok());
  const Array result = *session->getOutput("y");
  EXPECT_EQ(result.shape, (std::vector<int64_t>{m, n}));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += xs.as<float>()[i * k + l] * ws.as<float>()[l * n + j];
      EXPECT_EQ(result.as<float>()[i * n + j], sum) << i << ", " << j;
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, RanksTest, testing::Values(1, 2, 3, 4, 8));

TEST(Session, PositionsOfKernels) {
  PlanBuilder builder({{"a", 2}, {"b", 4}});
  EntryBuilder entry = builder.entry("e");
  const uint32_t y = entry.output(
      "y", builder.type(DType::F32, {2, 4, 16}, {{"a"}, {"b"}, {}}));
  entry.launch("fill", {{y, write}}, {{"a"}, {"b:(2)2", "a"}});
  const auto session = makeSession(builder);
  ASSERT_TRUE(session->run("e").ok());
  const auto y0 = floats(*session->getOutput("y"));
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t i = 0; i < 16; ++i)
        EXPECT_EQ(y0[(a * 4 + b) * 16 + i],
                  i + 100 * a + 1000 * (b % 2 * 2 + a));
}

TEST(Session, KernelsAreComputedInParts) {
  constexpr int64_t size = 262144;
  for (const auto [threads, parts] : {std::pair(1, 1), std::pair(2, 5)}) {
    PlanBuilder builder({{"data", 1}});
    EntryBuilder entry = builder.entry("e");
    const uint32_t y = entry.output("y", builder.type(DType::F32, {size}));
    entry.launch("parts", {{y, write}});
    builder.table.kernels.front()->max_parts = 5;
    SessionOptions options;
    options.threads = threads;
    const auto session = *Session::create(builder.build(), options);
    ASSERT_TRUE(session->run("e").ok());
    const std::vector<float> result = floats(*session->getOutput("y"));
    for (int64_t part = 0; part < 8; ++part)
      EXPECT_EQ(result[part], part < parts ? parts : 0);
  }
}

TEST(Session, LaunchesOfSeveralSets) {
  for (const int threads : {1, 2}) {
    PlanBuilder builder({{"data", 2}});
    EntryBuilder entry = builder.entry("e");
    const auto type = builder.type(DType::F32, {16});
    const uint32_t x = entry.input("x", type), y = entry.input("y", type);
    const uint32_t a = entry.output("a", type), b = entry.output("b", type),
                   c = entry.output("c", type);
    entry.launchBatch("add", {{{x, read}, {y, read}, {a, write}},
                              {{y, read}, {x, read}, {b, write}},
                              {{x, read}, {y, read}, {c, write}}});
    entry.launchBatch("twice", {{{b, update}}, {{c, update}}});
    entry.launchBatch("twice", {{{c, update}}});
    builder.table.kernels.front()->max_parts = 4;
    SessionOptions options;
    options.threads = threads;
    const auto session = *Session::create(builder.build(), options);
    ASSERT_TRUE(session->setInput("e", "x", countingArray({16})).ok());
    ASSERT_TRUE(session->setInput("e", "y", countingArray({16}, 2)).ok());
    ASSERT_TRUE(session->run("e").ok());
    EXPECT_EQ(floats(*session->getOutput("a")), floats(countingArray({16}, 3)));
    EXPECT_EQ(floats(*session->getOutput("b")), floats(countingArray({16}, 6)));
    EXPECT_EQ(floats(*session->getOutput("c")),
              floats(countingArray({16}, 12)));
  }
}

TEST(Session, ConstantsAndCopies) {
  PlanBuilder builder({{"data", 2}});
  EntryBuilder first = builder.entry("first");
  const uint32_t y = first.output("y", builder.type(DType::F32, {16}));
  first.copy(first.constant(countingArray({16}, 3)), y);
  EntryBuilder second = builder.entry("second");
  const uint32_t z = second.output("z", builder.type(DType::F32, {8}));
  second.copy(second.constant(countingArray({8}, 5)), z);
  const auto session = makeSession(builder);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(session->run("first").ok());
    EXPECT_EQ(floats(*session->getOutput("y")), floats(countingArray({16}, 3)));
    ASSERT_TRUE(session->run("second").ok());
    EXPECT_EQ(floats(*session->getShard("z", 1)),
              floats(countingArray({8}, 5)));
  }
  EXPECT_THAT(session->getOutput("y").status().message(),
              HasSubstr("\"y\" is neither a state of the plan nor an output of "
                        "entry \"second\", which ran last"));
}

TEST(Session, ManyCollectivesInFlight) {
  constexpr int count = 20;
  PlanBuilder builder({{"data", 4}});
  const uint32_t group = builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {64}, {{"data"}});
  const uint32_t x = entry.input("x", type);
  std::vector<uint32_t> sums;
  for (int i = 0; i < count; ++i)
    sums.push_back(
        entry.output("y" + std::to_string(i), builder.type(DType::F32, {16})));
  for (int i = 0; i < count; ++i)
    entry.start(plan::CollectiveKind::AllReduce, group, x, sums[i], 1, 16);
  for (int i = count; i-- > 0;)
    entry.wait(i);
  const auto session = makeSession(builder);
  for (int step = 0; step < 50; ++step) {
    ASSERT_TRUE(
        session->setInput("e", "x", countingArray({64}, float(step))).ok());
    ASSERT_TRUE(session->run("e").ok());
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(session->getOutput("y" + std::to_string(i))->as<float>()[1],
                step * (1 + 17 + 33 + 49));
  }
}

TEST(Session, InputsStayUntilTheyAreSetAgain) {
  // The entry overwrites its input's memory.
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {16});
  const uint32_t x = entry.input("x", type), y = entry.output("y", type);
  entry.launch("twice", {{x, update}});
  entry.copy(x, y);
  const auto session = makeSession(builder);
  ASSERT_TRUE(session->setInput("e", "x", countingArray({16})).ok());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(session->run("e").ok());
    EXPECT_EQ(floats(*session->getOutput("y")), floats(countingArray({16}, 2)));
  }
}

TEST(Session, UnsetAndWrongValues) {
  const auto session = makeSession(SamplePlan(2));
  EXPECT_THAT(session->unsetInputs("train_step"), ElementsAre("w", "x"));
  EXPECT_THAT(session->run("train_step").message(),
              HasSubstr("entry \"train_step\" reads inputs that are not set: "
                        "w, x"));
  EXPECT_THAT(session->run("train").message(),
              HasSubstr("the plan has no entry \"train\"; it has: init, "
                        "train_step"));
  EXPECT_THAT(
      session->setInput("train_step", "x", countingArray({31})).message(),
      HasSubstr("input \"x\" must be f32[32], got f32[31]"));
  EXPECT_THAT(
      session->setInput("train_step", "x", Array(DType::I32, {32})).message(),
      HasSubstr("input \"x\" must be f32[32], got i32[32]"));
  EXPECT_THAT(session->setInput("train_step", "y", Array()).message(),
              HasSubstr("entry \"train_step\" has no input \"y\""));
  EXPECT_THAT(session->setInput("e", "y", Array()).message(),
              HasSubstr("the plan has no entry \"e\""));
  EXPECT_THAT(session->setState("v", Array()).message(),
              HasSubstr("the plan has no state \"v\""));
  EXPECT_THAT(session->getState("v").status().message(),
              HasSubstr("the plan has no state \"v\""));
  EXPECT_THAT(session->setState("w", countingArray({4, 4})).message(),
              HasSubstr("state \"w\" must be f32[16], got f32[4x4]"));
  EXPECT_THAT(session->getOutput("loss").status().message(),
              HasSubstr("\"loss\" is neither a state of the plan nor an output "
                        "of an entry that has run"));
  for (const auto &read : {session->getState("w"), session->getShard("w", 0)})
    EXPECT_THAT(read.status().message(),
                HasSubstr("state \"w\" is read, but nothing has set it"));
  EXPECT_TRUE(session->setState("w", countingArray({16})).ok());
  EXPECT_THAT(session->getShard("w", 2).status().message(),
              HasSubstr("rank 2 is not one of the 2 ranks"));
  // A state may be set through the entry that reads it.
  ASSERT_TRUE(session->setInput("train_step", "w", countingArray({16})).ok());
  EXPECT_THAT(session->unsetInputs("train_step"), ElementsAre("x"));
}

TEST(Session, PartsOfTheRanks) {
  const auto session = makeSession(SamplePlan(2));
  const Array w = countingArray({16}, 2), whole = countingArray({32});
  // A state that every rank holds whole, and an input that is split.
  ASSERT_TRUE(
      session->setInputShards("train_step", "w", std::vector<ArrayView>{w, w})
          .ok());
  EXPECT_EQ(floats(*session->getState("w")), floats(w));
  const ArrayView first{whole.dtype, w.shape, whole.data.data()};
  const ArrayView second{whole.dtype, w.shape, whole.data.data() + w.bytes()};
  ASSERT_TRUE(session
                  ->setInputShards("train_step", "x",
                                   std::vector<ArrayView>{first, second})
                  .ok());
  EXPECT_TRUE(session->unsetInputs("train_step").empty());
  ASSERT_TRUE(session->run("train_step").ok());
  std::vector<float> expected = floats(w);
  EXPECT_EQ(floats(*session->getOutput("loss")),
            std::vector<float>{expectedStep(expected, floats(whole))});

  EXPECT_THAT(
      session->setInputShards("train_step", "x", std::vector<ArrayView>{first})
          .message(),
      HasSubstr("input \"x\" needs a shard for each of the 2 ranks, got 1"));
  EXPECT_THAT(session
                  ->setInputShards("train_step", "x",
                                   std::vector<ArrayView>{first, whole})
                  .message(),
              HasSubstr("the shard of rank 1 of input \"x\" must be f32[16], "
                        "got f32[32]"));
}

TEST(Session, TwoSessionsAtOnce) {
  const auto a = makeSession(SamplePlan(2)), b = makeSession(SamplePlan(2));
  for (Session *session : {a.get(), b.get()}) {
    ASSERT_TRUE(session->run("init").ok());
    ASSERT_TRUE(session->setInput("train_step", "x", countingArray({32})).ok());
    ASSERT_TRUE(session->run("train_step").ok());
  }
  EXPECT_EQ(floats(*a->getState("w")), floats(*b->getState("w")));
}

TEST(Session, Trace) {
  SessionOptions options;
  options.traceRuns = 2;
  const auto session = makeSession(SamplePlan(2), options);
  ASSERT_TRUE(session->run("init").ok());
  ASSERT_TRUE(session->setInput("train_step", "x", countingArray({32})).ok());
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(session->run("train_step").ok());
  const std::string path = testing::TempDir() + "/session-trace.json";
  const Status status = session->writeTrace(path);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto json = nlohmann::json::parse(std::ifstream(path));
  std::remove(path.c_str());
  EXPECT_EQ(json.at("otherData").at("weft.plan"),
            fmt::format("{:016x}", session->plan().hash()));
  int slices = 0, reductions = 0;
  for (const auto &event : json.at("traceEvents")) {
    if (event.at("ph") != "X")
      continue;
    ++slices;
    if (event.at("tid") == 1) {
      ++reductions;
      EXPECT_EQ(event.at("name"), "all_reduce");
      EXPECT_EQ(event.at("args").at("cause"),
                "gradient of w, summed over data");
      EXPECT_EQ(event.at("args").at("location"), "model.py:12");
      EXPECT_EQ(event.at("args").at("step"), 1);
    }
    EXPECT_GE(event.at("dur").get<double>(), 0);
  }
  // Runs 1 (init: 1 step) and 2 (train_step: 5 steps and a collective).
  EXPECT_EQ(slices, 2 * (1 + 5 + 1));
  EXPECT_EQ(reductions, 2);
  EXPECT_THAT(session->writeTrace("/nonexistent/t.json").message(),
              HasSubstr("/nonexistent/t.json"));
}

/// A reader sees what the plan says, without escapes.
TEST(Session, TextsOfATrace) {
  SamplePlan plan(2);
  plan.instruction(0).cause = R"(sum over {"data"} of C:\w)";
  plan.instruction(0).location = "model.py:\"loss\"";
  plan.table.kernels[1]->summary = "\"add\" of 16";
  plan.instruction(1).cause = "no UTF-8: \xff";
  SessionOptions options;
  options.traceRuns = 1;
  const auto session = makeSession(plan, options);
  ASSERT_TRUE(session->setState("w", countingArray({16})).ok());
  ASSERT_TRUE(session->setInput("train_step", "x", countingArray({32})).ok());
  ASSERT_TRUE(session->run("train_step").ok());
  const std::string path = testing::TempDir() + "/session-texts.json";
  ASSERT_TRUE(session->writeTrace(path).ok());
  const auto json = nlohmann::json::parse(std::ifstream(path));
  std::remove(path.c_str());
  int kernels = 0, collectives = 0;
  for (const auto &event : json.at("traceEvents")) {
    if (event.at("ph") != "X")
      continue;
    if (event.at("args").at("step") == 0) {
      ++kernels;
      EXPECT_EQ(event.at("name"), "\"add\" of 16");
      EXPECT_EQ(event.at("args").at("cause"), R"(sum over {"data"} of C:\w)");
      EXPECT_EQ(event.at("args").at("location"), "model.py:\"loss\"");
    }
    if (event.at("name") == "all_reduce") {
      ++collectives;
      EXPECT_EQ(event.at("args").at("cause"), "no UTF-8: \uFFFD");
    }
  }
  EXPECT_EQ(kernels, 2);
  EXPECT_GE(collectives, 2);
}

/// A collective that nothing runs beside is in the track of communication too.
TEST(Session, TraceOfInlineCollectives) {
  PlanBuilder builder({{"data", 2}});
  const uint32_t group = builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x = entry.input("x", builder.type(DType::F32, {16}));
  entry.start(plan::CollectiveKind::AllReduce, group, x, x, 1, 16);
  entry.wait(0);
  SessionOptions options;
  options.traceRuns = 1;
  const auto session = makeSession(builder, options);
  ASSERT_TRUE(session->setInput("e", "x", countingArray({16})).ok());
  ASSERT_TRUE(session->run("e").ok());
  const std::string path = testing::TempDir() + "/session-inline-trace.json";
  ASSERT_TRUE(session->writeTrace(path).ok());
  const auto json = nlohmann::json::parse(std::ifstream(path));
  std::remove(path.c_str());
  std::vector<std::string> slices;
  for (const auto &event : json.at("traceEvents"))
    if (event.at("ph") == "X" && event.at("pid") == 0)
      slices.push_back(event.at("name").get<std::string>() + " " +
                       event.at("tid").dump());
  EXPECT_THAT(slices, ElementsAre("wait 0", "all_reduce 1"));
}

} // namespace
} // namespace weft::runtime
