//===- CollectiveTest.cpp - Collectives of plans are executed ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test computes what every rank must hold from the definition of the
// collective in plan.fbs.
//
//===----------------------------------------------------------------------===//

#include "CollectivePlan.h"
#include "plan/Mesh.h"
#include "weft/runtime/Session.h"

#include <gmock/gmock.h>

#include <functional>
#include <tuple>

namespace weft::runtime {
namespace {

/// A mesh <["a"=2, "b"=N]> with one collective over "b", either in the thread
/// of the rank or handed to the communication thread. Rank r holds numbers of
/// its own: element i of the source is i + 1000 r.
struct PlanCollective : testing::TestWithParam<std::tuple<int64_t, bool>> {
  PlanCollective() : builder({{"a", 2}, {"b", std::get<0>(GetParam())}}) {
    group = builder.group({"b"});
  }

  int64_t size() const { return std::get<0>(GetParam()); }

  /// The shards of the destination, by rank.
  std::vector<std::vector<float>>
  run(plan::CollectiveKind kind, int64_t sourceSize, int64_t destinationSize,
      const std::function<void(plan::CollectiveStartT &)> &set) {
    EntryBuilder entry = builder.entry("e");
    const int64_t ranks = 2 * size();
    const uint32_t x = entry.input(
        "x", builder.type(DType::F32, {ranks * sourceSize}, {{"a", "b"}}));
    const uint32_t y = entry.output(
        "y", builder.type(DType::F32, {ranks * destinationSize}, {{"a", "b"}}));
    const uint32_t other =
        entry.output("other", builder.type(DType::F32, {16}));
    set(entry.start(kind, group, x, y, 1, 1));
    if (std::get<1>(GetParam()))
      entry.launch("fill", {{other, write}}, {{}, {}});
    entry.wait(0);
    if (!std::get<1>(GetParam()))
      entry.launch("fill", {{other, write}}, {{}, {}});
    auto session = Session::create(builder.build());
    EXPECT_TRUE(session.ok()) << session.status().message();
    Array input(DType::F32, {ranks * sourceSize});
    for (int64_t i = 0; i < input.size(); ++i)
      input.as<float>()[i] = value(i / sourceSize, i % sourceSize);
    EXPECT_TRUE((*session)->setInput("e", "x", input).ok());
    const Status status = (*session)->run("e");
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<std::vector<float>> shards;
    for (int64_t rank = 0; rank < ranks; ++rank)
      shards.push_back(floats(*(*session)->getShard("y", rank)));
    return shards;
  }

  static float value(int64_t rank, int64_t i) {
    return static_cast<float>(i + 1000 * rank);
  }
  /// The rank at position `p` of the group of `rank`.
  int64_t member(int64_t rank, int64_t p) const {
    return rank / size() * size() + p;
  }

  PlanBuilder builder;
  uint32_t group;
};

TEST_P(PlanCollective, AllReduce) {
  for (auto [reduction, name] : {std::pair(plan::Reduction::Sum, "sum"),
                                 std::pair(plan::Reduction::Max, "max"),
                                 std::pair(plan::Reduction::Min, "min")}) {
    builder.table.entries.clear();
    const auto shards =
        run(plan::CollectiveKind::AllReduce, 6, 6, [&](auto &start) {
          start.outer = 2, start.inner = 3, start.reduction = reduction;
        });
    for (int64_t rank = 0; rank < 2 * size(); ++rank)
      for (int64_t i = 0; i < 6; ++i) {
        float expected = value(member(rank, 0), i);
        for (int64_t p = 1; p < size(); ++p) {
          const float term = value(member(rank, p), i);
          expected = reduction == plan::Reduction::Sum ? expected + term
                     : reduction == plan::Reduction::Max
                         ? std::max(expected, term)
                         : std::min(expected, term);
        }
        EXPECT_EQ(shards[rank][i], expected) << name << " on rank " << rank;
      }
  }
}

TEST_P(PlanCollective, AllGather) {
  const int64_t g = size(), outer = 2, inner = 3;
  const auto shards =
      run(plan::CollectiveKind::AllGather, outer * inner, outer * g * inner,
          [&](auto &start) { start.outer = outer, start.inner = inner; });
  for (int64_t rank = 0; rank < 2 * g; ++rank)
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t p = 0; p < g; ++p)
        for (int64_t i = 0; i < inner; ++i)
          EXPECT_EQ(shards[rank][(o * g + p) * inner + i],
                    value(member(rank, p), o * inner + i));
}

TEST_P(PlanCollective, ReduceScatter) {
  const int64_t g = size(), outer = 2, inner = 3;
  const auto shards =
      run(plan::CollectiveKind::ReduceScatter, outer * g * inner, outer * inner,
          [&](auto &start) { start.outer = outer, start.inner = inner; });
  for (int64_t rank = 0; rank < 2 * g; ++rank)
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        float sum = 0;
        for (int64_t p = 0; p < g; ++p)
          sum += value(member(rank, p), (o * g + rank % g) * inner + i);
        EXPECT_EQ(shards[rank][o * inner + i], sum);
      }
}

/// Against whole dimensions of a group: put together, moved and cut again.
TEST_P(PlanCollective, Exchange) {
  const int64_t g = size(), outer = 2, held = 2 * g, inner = 3;
  plan::CollectiveStartT made;
  const auto shards = run(plan::CollectiveKind::Exchange, outer * held * inner,
                          outer * held * inner, [&](auto &start) {
                            start.outer = outer, start.inner = inner;
                            setExchange(start, g, DType::F32);
                            made = start;
                          });
  // The positions of segments: who holds them, and where.
  const auto whole = [&](const std::vector<int64_t> &parts) {
    std::vector<std::pair<int64_t, int64_t>> places;
    int64_t place = 0;
    for (int64_t part : parts) {
      for (int64_t p = 0; p < g; ++p)
        for (int64_t i = 0; i < part; ++i)
          places.emplace_back(p, place + i);
      place += part;
    }
    return places;
  };
  const auto before = whole(made.exchange_from),
             after = whole(made.exchange_to);
  for (int64_t first = 0; first < 2 * g; first += g)
    for (const plan::ElementRun &run : made.exchange_runs)
      for (int64_t e = 0; e < run.length(); ++e) {
        const auto [sender, from] = before[run.from() + e * run.step()];
        const auto [receiver, to] = after[run.to() + e];
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t i = 0; i < inner; ++i)
            EXPECT_EQ(shards[first + receiver][(o * held + to) * inner + i],
                      value(first + sender, (o * held + from) * inner + i));
      }
}

TEST_P(PlanCollective, AllToAllBothWays) {
  const int64_t g = size(), outer = 2, middle = 3, inner = 2;
  for (bool splitFirst : {true, false}) {
    builder.table.entries.clear();
    const int64_t elements = outer * g * middle * inner;
    const auto shards = run(plan::CollectiveKind::AllToAll, elements, elements,
                            [&](auto &start) {
                              start.outer = outer, start.middle = middle;
                              start.inner = inner;
                              start.split_first = splitFirst;
                            });
    for (int64_t rank = 0; rank < 2 * g; ++rank)
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t sender = 0; sender < g; ++sender)
          for (int64_t j = 0; j < middle; ++j)
            for (int64_t i = 0; i < inner; ++i) {
              const int64_t me = rank % g;
              const int64_t groupFirst =
                  ((o * g + me) * middle + j) * inner + i;
              const int64_t groupLast = ((o * middle + j) * g + me) * inner + i;
              const int64_t to =
                  splitFirst ? ((o * middle + j) * g + sender) * inner + i
                             : ((o * g + sender) * middle + j) * inner + i;
              EXPECT_EQ(shards[rank][to],
                        value(member(rank, sender),
                              splitFirst ? groupFirst : groupLast));
            }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PlanCollective,
                         testing::Combine(testing::Values(1, 2, 4),
                                          testing::Bool()));

TEST(PlanCollectives, Permute) {
  PlanBuilder builder({{"a", 2}, {"b", 2}, {"c", 2}});
  const uint32_t group = builder.group({"a", "b"});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {32}, {{"a", "b", "c"}});
  const uint32_t x = entry.input("x", type), y = entry.output("y", type);
  auto &start = entry.start(plan::CollectiveKind::Permute, group, x, y, 1, 4);
  start.permute_from = builder.axes({"a"});
  start.permute_to = builder.axes({"b"});
  entry.wait(0);
  auto session = Session::create(builder.build());
  ASSERT_TRUE(session.ok()) << session.status().message();
  ASSERT_TRUE((*session)->setInput("e", "x", countingArray({32})).ok());
  ASSERT_TRUE((*session)->run("e").ok());
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b)
      for (int c = 0; c < 2; ++c) {
        const auto shard =
            floats(*(*session)->getShard("y", a * 4 + b * 2 + c));
        // From the rank whose a is my b, and whose b is my a.
        EXPECT_EQ(shard[0], 4 * (b * 4 + a * 2 + c));
      }
}

TEST(PlanCollectives, InPlaceAllReduceOfBFloat16) {
  PlanBuilder builder({{"data", 4}});
  const uint32_t group = builder.group({"data"});
  EntryBuilder entry = builder.entry("e");
  const uint32_t x =
      entry.input("x", builder.type(DType::BF16, {4}, {{"data"}}));
  entry.start(plan::CollectiveKind::AllReduce, group, x, x, 1, 1);
  entry.wait(0);
  entry.outputAt("y", builder.type(DType::BF16, {1}), x);
  auto session = Session::create(builder.build());
  ASSERT_TRUE(session.ok()) << session.status().message();
  Array values(DType::BF16, {4});
  for (int i = 0; i < 4; ++i)
    values.as<BFloat16>()[i] = toBFloat16(static_cast<float>(i == 0 ? 256 : 1));
  ASSERT_TRUE((*session)->setInput("e", "x", values).ok());
  ASSERT_TRUE((*session)->run("e").ok());
  // 259 in fp32, then rounded to even; bf16 sums would have stayed at 256.
  EXPECT_EQ(toFloat((*session)->getOutput("y")->as<BFloat16>()[0]), 260);
}

} // namespace
} // namespace weft::runtime
