//===- CompareValuesTest.cpp - What the ranks computed is checked ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On <["a"=2, "b"=2]>: value 0 is x, of which each rank holds a term over "a";
// value 0 again is their sum; value 1 is that once more. The reference copies.
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/CompareValues.h"

#include "PlanBuilder.h"
#include "observe/Numbers.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace weft::runtime {
namespace {

using plan::CollectiveKind;
using plan::ObservedKind;
using testing::ElementsAre;
using testing::HasSubstr;

struct RanksPlan : PlanBuilder {
  explicit RanksPlan(const std::string &axis)
      : PlanBuilder({{"a", 2}, {"b", 2}}) {
    const auto terms = type(DType::F32, {4}, {{}}, {"a"});
    const auto whole = type(DType::F32, {4});
    EntryBuilder step = entry("step");
    const uint32_t x = step.input("x", terms);
    const uint32_t first = step.output("weft.observed 0", terms);
    const uint32_t sum = step.output("weft.observed 1", whole);
    const uint32_t last = step.output("y", whole);
    step.copy(x, first);
    step.start(CollectiveKind::AllReduce, group({axis}), first, sum, 1, 4);
    step.wait(0);
    step.copy(sum, last);
    observe(0, 0, ObservedKind::Sum, {}, "product");
    observe(1, 0, ObservedKind::Moved, {0}, "partial sums over a");
    observe(2, 1, ObservedKind::Element, {1}, "copy");
  }

  void observe(uint32_t output, uint32_t number, ObservedKind kind,
               std::vector<uint32_t> sources, const std::string &name) {
    auto value = std::make_unique<plan::ObservedValueT>();
    value->output = output;
    value->number = number;
    value->kind = kind;
    value->terms = kind == ObservedKind::Sum ? 8 : 0;
    value->sources = std::move(sources);
    value->name = name;
    table.entries[0]->observed.push_back(std::move(value));
  }
};

struct ReferencePlan : PlanBuilder {
  ReferencePlan() : PlanBuilder({{"device", 1}}) {
    const auto whole = type(DType::F32, {4});
    EntryBuilder step = entry("step");
    step.copy(step.input("x", whole), step.output("weft.value 0", whole));
    step.copy(step.input("weft.given 0", whole),
              step.output("weft.value 1", whole));
  }
};

Array numbers(std::vector<float> values) {
  Array array(DType::F32, {static_cast<int64_t>(values.size())});
  std::ranges::copy(values, array.as<float>().begin());
  return array;
}

Result<Comparison> compareOver(const std::string &axis) {
  WEFT_ASSIGN_OR_RETURN(const auto ranks,
                        Session::create(RanksPlan(axis).build()));
  WEFT_ASSIGN_OR_RETURN(const auto reference,
                        Session::create(ReferencePlan().build()));
  return compareValues(*ranks, *reference, "step",
                       {{"x", numbers({1, 2, 3, 4})}});
}

TEST(CompareValues, EverythingIsRight) {
  const Result<Comparison> found = compareOver("a");
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(print(*found), "3 values of entry step on 4 ranks: all right; the "
                           "largest error is 0 of its bound\n");
}

TEST(CompareValues, WrongGroup) {
  const Result<Comparison> found = compareOver("b");
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found->wrong.size(), 1);
  EXPECT_EQ(found->wrong[0].place, 1);
  EXPECT_THAT(found->wrong[0].ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(found->wrong[0].differing, ElementsAre("a"));
  EXPECT_THAT(print(*found),
              testing::StartsWith("3 values of entry step on 4 ranks: one is "
                                  "wrong\n  moved: partial sums over a\n    "
                                  "on all ranks: 4 of 4 elements\n    at ["));
  // Each rank copied what it had.
  EXPECT_EQ(found->behind, 1);
}

/// The reference makes what the ranks do not have.
TEST(CompareValues, ValueThatRanksDoNotHave) {
  RanksPlan fewer("a");
  auto &observed = fewer.table.entries[0]->observed;
  observed.erase(observed.begin(), observed.begin() + 2);
  observed[0]->sources.clear();
  const auto ranks = Session::create(fewer.build());
  const auto reference = Session::create(ReferencePlan().build());
  ASSERT_TRUE(ranks.ok() && reference.ok());
  const Result<Comparison> found = compareValues(
      **ranks, **reference, "step", {{"x", numbers({1, 2, 3, 4})}});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->values, 1);
  EXPECT_TRUE(found->wrong.empty()) << print(*found);
}

TEST(CompareValues, MissingInput) {
  const auto ranks = Session::create(RanksPlan("a").build());
  const auto reference = Session::create(ReferencePlan().build());
  ASSERT_TRUE(ranks.ok() && reference.ok());
  const Result<Comparison> found =
      compareValues(**ranks, **reference, "step", {});
  EXPECT_EQ(found.status().message(),
            "input \"x\" (f32[4]) of entry \"step\" is missing");
}

std::string verdict(const PlanBuilder &plan, const PlanBuilder &reference) {
  return checkReference(plan.build(), reference.build(), "step").message();
}

TEST(CheckReference, OtherPrograms) {
  EXPECT_EQ(verdict(RanksPlan("a"), ReferencePlan()), "");
  EXPECT_THAT(verdict(ReferencePlan(), ReferencePlan()),
              HasSubstr("was not made to be verified; compile it with "
                        "--reference=FILE"));
  EXPECT_THAT(verdict(RanksPlan("a"), RanksPlan("a")),
              HasSubstr("the reference is of another program: it has no entry "
                        "\"step\" for one device"));
  RanksPlan more("a");
  more.table.entries[0]->observed[2]->number = 7;
  EXPECT_THAT(verdict(more, ReferencePlan()),
              HasSubstr("it does not compute value 7, copy as f32[4]"));
  ReferencePlan other;
  other.table.entries[0]->inputs[0]->name = "z";
  EXPECT_THAT(verdict(RanksPlan("a"), other),
              HasSubstr("it takes \"z\" as f32[4]"));
}

TEST(Numbers, OfEveryType) {
  for (const DType dtype : {DType::F32, DType::BF16, DType::I32, DType::I64,
                            DType::F64, DType::F16, DType::I8, DType::I16}) {
    const Numbers values = {0, 1, -2, 7};
    EXPECT_EQ(toNumbers(toArray(values, dtype, {4})), values) << name(dtype);
  }
  EXPECT_EQ(toNumbers(toArray({1, 0}, DType::Pred, {2})), (Numbers{1, 0}));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(toNumbers(toArray({NAN}, DType::BF16, {1}))[0]));
  EXPECT_EQ(toNumbers(toArray({-infinity}, DType::F16, {1}))[0], -infinity);
}

TEST(Numbers, TermsAreAddedUp) {
  PlanBuilder builder({{"a", 2}, {"b", 2}});
  builder.entry("e").input("x",
                           builder.type(DType::I8, {2, 4}, {{}, {"b"}}, {"a"}));
  const Plan plan = builder.build();
  const auto &type =
      *plan.contents().entries()->Get(0)->inputs()->Get(0)->type();
  std::vector<Array> shards;
  for (double rank = 0; rank < 4; ++rank)
    shards.push_back(toArray({100, rank, -rank, 1}, DType::I8, {2, 2}));
  const std::vector<Holding> holdings = holdingsOf(
      type, Mesh(plan.contents()), [&](int64_t rank) { return &shards[rank]; });
  ASSERT_EQ(holdings.size(), 2);
  EXPECT_THAT(holdings[1].ranks, ElementsAre(1, 3));
  EXPECT_THAT(holdings[1].where, ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(holdings[1].numbers, ElementsAre(-56, 4, -4, 2)); // 200 wraps
  EXPECT_THAT(holdings[1].magnitudes, ElementsAre(200, 4, 4, 2));
}

TEST(Numbers, RanksOfOtherStagesHoldNothing) {
  PlanBuilder builder({{"pipe", 2}, {"a", 2}});
  builder.entry("e").input("x", builder.type(DType::F32, {2}, {{"a"}}));
  const Plan plan = builder.build();
  const auto &type =
      *plan.contents().entries()->Get(0)->inputs()->Get(0)->type();
  const Array shard = toArray({1}, DType::F32, {1});
  const std::vector<Holding> holdings =
      holdingsOf(type, Mesh(plan.contents()),
                 [&](int64_t rank) { return rank < 2 ? nullptr : &shard; });
  ASSERT_EQ(holdings.size(), 2);
  EXPECT_THAT(holdings[0].ranks, ElementsAre(2));
  EXPECT_THAT(holdings[1].ranks, ElementsAre(3));
}

} // namespace
} // namespace weft::runtime
