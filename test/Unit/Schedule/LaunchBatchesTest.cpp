//===- LaunchBatchesTest.cpp - Which launches can be one ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Schedule/LaunchBatches.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace weft;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

using Numbers = std::initializer_list<int32_t>;
using Batch = llvm::SmallVector<int32_t, 1>;
using Kind = BatchStep::Kind;

/// A program written down step by step.
struct Program : BatchProgram {
  int32_t buffer(int64_t bytes = 1, bool isInput = false,
                 bool isOutput = false) {
    buffers.push_back({bytes, isInput, isOutput});
    return buffers.size() - 1;
  }
  int32_t input(int64_t bytes = 1) { return buffer(bytes, true); }
  int32_t output(int64_t bytes = 1) { return buffer(bytes, false, true); }

  /// Another step: of no kind.
  int32_t step(Numbers reads, Numbers writes) {
    return add(reads, writes, -1, 1);
  }
  int32_t launch(int32_t launchKind, Numbers reads, Numbers writes,
                 double seconds = 0) {
    while (int32_t(largest.size()) <= launchKind)
      largest.push_back(100);
    return add(reads, writes, launchKind, seconds);
  }
  int32_t start(int32_t source, int32_t destination) {
    return collective(source, destination, Kind::Starts);
  }
  int32_t wait(int32_t source, int32_t destination) {
    return collective(source, destination, Kind::Waits);
  }

  /// The order, which the specification agrees with.
  BatchOrder batched(const BatchOptions &options = {20e-6}) const {
    BatchOrder order = batchLaunches(*this, options);
    EXPECT_THAT(checkBatches(*this, order, options), IsEmpty());
    return order;
  }

private:
  int32_t add(Numbers reads, Numbers writes, int32_t launchKind,
              double seconds) {
    steps.push_back({reads, writes, launchKind, Kind::Computes, seconds});
    return steps.size() - 1;
  }
  int32_t collective(int32_t source, int32_t destination, Kind kind) {
    int32_t step = add({source}, {destination}, -1, 0);
    steps[step].kind = kind;
    return step;
  }
};

TEST(LaunchBatches, CastsComeTogetherBeforeTheFirstUse) {
  // a = cast(p); y = gemm(x, a); b = cast(q); z = gemm(y, b)
  Program program;
  int32_t x = program.input(100), p = program.input(), q = program.input();
  int32_t a = program.buffer(), b = program.buffer();
  int32_t y = program.buffer(), z = program.output(200);
  program.launch(0, {p}, {a});
  program.step({x, a}, {y});
  program.launch(0, {q}, {b});
  program.step({y, b}, {z});
  EXPECT_THAT(program.batched(), ElementsAre(Batch{0, 2}, Batch{1}, Batch{3}));
}

TEST(LaunchBatches, UpdatesComeTogetherAtTheLast) {
  // Gradients of two parameters, each used by its update at once; the states
  // have memory of their own.
  Program program;
  int32_t x = program.input(100), p = program.buffer(0), q = program.buffer(0);
  int32_t g = program.buffer(), h = program.buffer(), y = program.buffer();
  program.step({x, p, q}, {g, y});
  program.launch(0, {p, g}, {p});
  program.step({y}, {h});
  program.launch(0, {q, h}, {q});
  EXPECT_THAT(program.batched(), ElementsAre(Batch{0}, Batch{2}, Batch{1, 3}));
}

TEST(LaunchBatches, WhatDependsOnEachOtherStaysApart) {
  // In a row, through a step between them, over what one writes and another
  // one reads or writes.
  Program program;
  int32_t x = program.input(100), a = program.buffer(), b = program.buffer(),
          c = program.buffer(), d = program.output();
  program.launch(0, {x}, {a});
  program.launch(0, {a}, {b});
  program.step({b}, {c});
  program.launch(0, {c}, {d});
  EXPECT_THAT(program.batched(),
              ElementsAre(Batch{0}, Batch{1}, Batch{2}, Batch{3}));

  Program overwrites;
  x = overwrites.input(100), a = overwrites.input(), b = overwrites.output();
  overwrites.launch(0, {a}, {b});
  overwrites.launch(0, {x}, {a});
  overwrites.launch(0, {x}, {a});
  EXPECT_THAT(overwrites.batched(), ElementsAre(Batch{0}, Batch{1}, Batch{2}));
}

TEST(LaunchBatches, SortsStayApartAndSetsAreCounted) {
  Program program;
  int32_t x = program.input(100);
  for (int i = 0; i < 10; ++i)
    program.launch(i % 2, {x}, {program.output()});
  program.largest = {3, 1};
  EXPECT_THAT(program.batched(),
              ElementsAre(Batch{1}, Batch{3}, Batch{0, 2, 4}, Batch{5},
                          Batch{7}, Batch{6, 8}, Batch{9}));
  program.largest = {100, 0};
  EXPECT_EQ(program.batched().size(), 6u);
}

/// Eight casts, each used by the step behind it, and a peak of `room` bytes
/// above what the program needs elsewhere.
Program castsWithRoom(int64_t room) {
  Program program;
  int32_t peak = program.buffer(2 + room);
  for (int i = 0; i < 8; ++i) {
    int32_t cast = program.buffer();
    program.launch(0, {program.buffer(0)}, {cast});
    program.step({cast}, {});
  }
  program.step({}, {peak});
  return program;
}

TEST(LaunchBatches, MemoryBoundsWhatIsMadeEarly) {
  // Two bytes of the peak are none that a cast needs to be alone.
  auto sizes = [](const Program &program) {
    std::vector<size_t> sizes;
    for (const Batch &steps : program.batched())
      if (program.steps[steps.front()].launchKind == 0)
        sizes.push_back(steps.size());
    return sizes;
  };
  EXPECT_THAT(sizes(castsWithRoom(-1)), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(sizes(castsWithRoom(0)), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(sizes(castsWithRoom(1)), ElementsAre(3, 3, 2));
  EXPECT_THAT(sizes(castsWithRoom(6)), ElementsAre(8));
}

TEST(LaunchBatches, MemoryBoundsWhatIsReleasedLate) {
  // Four gradients; the activations that make them are released one by one.
  for (int64_t bytes : {1, 2, 4}) {
    Program program;
    std::vector<int32_t> activations, gradients;
    for (int i = 0; i < 4; ++i)
      activations.push_back(program.input(2));
    for (int i = 0; i < 4; ++i) {
      int32_t gradient = program.buffer(bytes), state = program.buffer(0);
      program.step({activations[i]}, {gradient});
      program.launch(0, {state, gradient}, {state});
    }
    // At the peak the first gradient is beside all activations. If a gradient
    // has more bytes than what is released for it, only two can wait.
    EXPECT_EQ(program.batched().size(), bytes <= 2 ? 5u : 7u) << bytes;
  }
}

/// Two updates, of which the second one needs what a collective brings.
Program updatesAroundAWait(double seconds) {
  Program program;
  int32_t x = program.input(100), g = program.buffer(), h = program.buffer(),
          r = program.buffer();
  program.step({x}, {g, h});
  program.start(h, r);
  program.launch(0, {g}, {program.output()}, seconds);
  program.wait(h, r);
  program.launch(0, {r}, {program.output()}, seconds);
  return program;
}

TEST(LaunchBatches, WorkThatHidesACollectiveStaysBesideIt) {
  EXPECT_THAT(updatesAroundAWait(1e-6).batched(),
              ElementsAre(Batch{0}, Batch{1}, Batch{3}, Batch{2, 4}));
  EXPECT_EQ(updatesAroundAWait(1e-3).batched().size(), 5u);
  EXPECT_EQ(updatesAroundAWait(1e-3).batched({/*crossingSeconds=*/1}).size(),
            4u);
}

/// Two casts, of which the first one is sent.
Program castsAroundAStart(double seconds) {
  Program program;
  int32_t x = program.input(100), a = program.buffer(), r = program.buffer(),
          y = program.output();
  program.launch(0, {x}, {a}, seconds);
  program.start(a, r);
  program.launch(0, {x}, {program.output()}, seconds);
  program.wait(a, r);
  program.step({r}, {y});
  return program;
}

TEST(LaunchBatches, WhatIsSentIsNotHeldUp) {
  EXPECT_THAT(castsAroundAStart(1e-6).batched(),
              ElementsAre(Batch{0, 2}, Batch{1}, Batch{3}, Batch{4}));
  EXPECT_EQ(castsAroundAStart(1e-3).batched().size(), 5u);
}

TEST(LaunchBatches, ManySmallMovesAddUp) {
  // Fifteen microseconds may move ahead of the start, not sixteen.
  Program program;
  int32_t x = program.input(100), a = program.buffer(), r = program.output();
  program.launch(0, {x}, {a}, 1e-6);
  program.start(a, r);
  for (int i = 0; i < 30; ++i)
    program.launch(0, {x}, {program.output()}, 1e-6);
  program.wait(a, r);
  BatchOptions options;
  options.crossingSeconds = 15.5e-6;
  BatchOrder order = program.batched(options);
  ASSERT_EQ(order.size(), 4u);
  EXPECT_EQ(order[0].size(), 16u);
  EXPECT_EQ(order[2].size(), 15u);
}

TEST(LaunchBatches, RandomProgramsGiveRightOrders) {
  std::mt19937 random(11);
  auto draw = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  int64_t saved = 0;
  for (int round = 0; round < 400; ++round) {
    Program program;
    int32_t buffers = draw(2, 25);
    for (int32_t i = 0; i < buffers; ++i)
      program.buffer(draw(0, 9), draw(0, 3) == 0, draw(0, 3) == 0);
    program.largest = {draw(1, 6), draw(2, 40)};
    auto touch = [&] { return draw(0, buffers - 1); };
    std::vector<std::pair<int32_t, int32_t>> flying;
    for (int32_t i = draw(1, 60); i-- > 0;) {
      switch (draw(0, 5)) {
      case 0:
        flying.emplace_back(touch(), touch());
        program.start(flying.back().first, flying.back().second);
        break;
      case 1:
        if (flying.empty())
          break;
        program.wait(flying.back().first, flying.back().second);
        flying.pop_back();
        break;
      case 2:
        program.step({touch()}, {touch()});
        break;
      default:
        program.launch(draw(0, 1), {touch(), touch()}, {touch()},
                       draw(0, 9) * 1e-6);
      }
    }
    saved += program.steps.size() - program.batched().size();
  }
  EXPECT_GT(saved, 400);
}

//===----------------------------------------------------------------------===//
// The specification
//===----------------------------------------------------------------------===//

/// Two casts with a step behind each, and one of another kind.
struct CheckBatches : testing::Test {
  CheckBatches() {
    x = program.input(1);
    a = program.buffer(1), b = program.buffer(1);
    program.launch(0, {x}, {a});
    program.step({a}, {y = program.output(0)});
    program.launch(0, {x}, {b});
    program.step({b}, {y});
    program.launch(1, {x}, {program.output(0)});
    program.step({}, {program.buffer(8)});
  }
  std::string check(const BatchOrder &order) {
    std::string text;
    for (const std::string &error : checkBatches(program, order, {20e-6}))
      text += error + "\n";
    return text;
  }

  Program program;
  int32_t x, a, b, y;
};

TEST_F(CheckBatches, EveryStepOnce) {
  EXPECT_EQ(check({{0, 2}, {1}, {3}, {4}, {5}}), "");
  EXPECT_THAT(check({{0, 2}, {1}, {3}, {4}, {5}, {6}}),
              HasSubstr("unknown step 6"));
  EXPECT_THAT(check({{0, 2}, {1}, {3}, {4}, {5}, {1}}),
              HasSubstr("step 1 is done twice"));
  EXPECT_THAT(check({{0, 2}, {1}, {3}, {5}}), HasSubstr("step 4 is missing"));
}

TEST_F(CheckBatches, Kinds) {
  EXPECT_THAT(check({{0, 4}, {1}, {2}, {3}, {5}}),
              HasSubstr("the batch of 2 steps is not of one kind"));
  EXPECT_THAT(check({{0}, {2}, {1, 3}, {4}, {5}}),
              HasSubstr("the batch of 2 steps is not of one kind"));
  EXPECT_THAT(check({{0}, {2}, {1}, {3}, {4}, {5}}),
              HasSubstr("step 1 is in no batch, but comes behind step 2"));
  program.largest[0] = 1;
  EXPECT_THAT(check({{0, 2}, {1}, {3}, {4}, {5}}),
              HasSubstr("a batch of 2 steps, there can be 1"));
}

TEST_F(CheckBatches, Conflicts) {
  EXPECT_THAT(check({{1}, {0, 2}, {3}, {4}, {5}}),
              HasSubstr("step 0 must come before step 1"));
  program.steps[2].reads = {a};
  EXPECT_THAT(check({{0, 2}, {1}, {3}, {4}, {5}}),
              HasSubstr("step 0 must come before step 2"));
}

TEST_F(CheckBatches, Memory) {
  program.buffers[a].bytes = program.buffers[b].bytes = 20;
  EXPECT_THAT(check({{0, 2}, {1}, {3}, {4}, {5}}),
              HasSubstr("41 bytes are alive at the peak, 21 before"));
}

TEST_F(CheckBatches, Overlap) {
  program.steps[0].seconds = program.steps[2].seconds = 1;
  program.steps[1].kind = Kind::Starts;
  EXPECT_THAT(check({{0, 2}, {1}, {3}, {4}, {5}}),
              HasSubstr("1.00 seconds of work have moved ahead of the start at "
                        "step 1"));
  program.steps[1] = {{}, {}, -1, Kind::Waits, 0};
  EXPECT_THAT(check({{1}, {0, 2}, {3}, {4}, {5}}),
              HasSubstr("1.00 seconds of work have moved behind the wait at "
                        "step 1"));
}

} // namespace
