//===- ReshardPlannerTest.cpp ---------------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans worth knowing, step by step.
//
//===----------------------------------------------------------------------===//

#include "ReshardSimulator.h"

#include "gmock/gmock.h"

using namespace weft;
using namespace weft::sharding;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

namespace {

/// Price of bytes alone, so that plans do not depend on sizes.
const cost::CollectiveCost bytesOnly(cost::Link{0, 1e-9});
/// With a latency as well, which makes few bytes not worth a second collective.
const cost::CollectiveCost usual(cost::Link{5e-6, 1 / 50e9});

Sharding make(std::vector<AxisList> dims, AxisList unreduced = {},
              Reduction reduction = Reduction::Sum) {
  Sharding result = Sharding::closed(dims.size());
  for (size_t d = 0; d < dims.size(); ++d)
    result.dims[d].axes = dims[d];
  result.unreduced = unreduced;
  result.unreducedKind = reduction;
  return result;
}

std::vector<std::string> plan(const Mesh &mesh, std::vector<int64_t> shape,
                              const Sharding &from, const Sharding &to,
                              const cost::CollectiveCost &cost = bytesOnly) {
  std::optional<ReshardPlan> plan = planReshard(mesh, shape, 4, from, to, cost);
  if (!plan)
    return {"no plan"};
  ReshardSimulator simulator(mesh, shape, from);
  std::vector<std::string> steps;
  for (const ReshardStep &step : plan->steps) {
    steps.push_back(print(mesh, step));
    EXPECT_EQ(simulator.execute(step), "");
    EXPECT_EQ(simulator.compare(step.result), "");
    EXPECT_THAT(checkSharding(mesh, step.result, shape.size()), IsEmpty());
  }
  EXPECT_EQ(simulator.compare(to), "");
  if (!plan->steps.empty()) {
    EXPECT_EQ(plan->steps.back().result, to);
  }
  return steps;
}

class ReshardPlannerTest : public testing::Test {
protected:
  Mesh mesh{{{"a", 8}, {"b", 2}}};
  AxisRef a{0, 1, 8}, aMajor{0, 1, 2}, b{1, 1, 2};
};

} // namespace

TEST_F(ReshardPlannerTest, EqualPlacementsNeedNothing) {
  Sharding from = make({{a}, {}});
  Sharding to = Sharding::open(2);
  to.dims[0].axes = {a};
  EXPECT_THAT(plan(mesh, {16, 16}, from, to), IsEmpty());
}

TEST_F(ReshardPlannerTest, SplittingIsFree) {
  EXPECT_THAT(plan(mesh, {16, 16}, make({{}, {}}), make({{b, a}, {}})),
              ElementsAre("all_slice dim 0 over {\"b\", \"a\"}"));
}

TEST_F(ReshardPlannerTest, OneGatherForSeveralAxes) {
  EXPECT_THAT(plan(mesh, {16, 16}, make({{b, a}, {}}), make({{}, {}})),
              ElementsAre("all_gather dim 0 over {\"b\", \"a\"}"));
}

TEST_F(ReshardPlannerTest, ReduceScatterRatherThanAllReduceAndSlice) {
  EXPECT_THAT(plan(mesh, {16, 16}, make({{}, {}}, {a}), make({{a}, {}}), usual),
              ElementsAre("reduce_scatter dim 0 over {\"a\"}"));
  EXPECT_THAT(plan(mesh, {16, 16}, make({{}, {}}, {a}), make({{}, {}}), usual),
              ElementsAre("all_reduce over {\"a\"}"));
}

/// What the devices along "b" hold alike they need not all reduce.
TEST_F(ReshardPlannerTest, IdleAxesShareTheWork) {
  EXPECT_THAT(plan(mesh, {16, 16}, make({{}, {}}, {a}), make({{}, {}})),
              ElementsAre("all_slice dim 0 over {\"b\"}",
                          "reduce_scatter dim 0 over {\"a\"}",
                          "all_gather dim 0 over {\"b\", \"a\"}"));
}

/// The numbers of shards, 2 and 4, become alike by a slice.
TEST_F(ReshardPlannerTest, IdleAxesLetTwoAxesChangePlaces) {
  Mesh three{{{"a", 2}, {"b", 4}, {"c", 2}}};
  AxisRef a{0, 1, 2}, b{1, 1, 4};
  EXPECT_THAT(plan(three, {16, 16}, make({{a}, {b}}), make({{b}, {a}})),
              ElementsAre("all_slice dim 0 over {\"c\"}",
                          "permute from {\"a\", \"c\", \"b\"} to "
                          "{\"b\", \"a\", \"c\"}",
                          "all_gather dim 1 over {\"c\"}"));
}

/// What is gathered of an axis that the target does not split may be split
/// elsewhere, here so that "b" and "c" can change places in one permute.
TEST_F(ReshardPlannerTest, GatheredAxesLetOthersChangePlaces) {
  Mesh three{{{"a", 4}, {"b", 3}, {"c", 6}}};
  AxisRef a{0, 1, 4}, b{1, 1, 3}, c{2, 1, 6};
  EXPECT_THAT(plan(three, {576, 24, 24}, make({{c}, {a}, {b}}),
                   make({{b}, {}, {c}}), usual),
              ElementsAre("all_gather dim 1 over {\"a\"}",
                          "all_slice dim 2 over {\"a\":(1)2}",
                          "permute from {\"c\", \"b\", \"a\":(1)2} to "
                          "{\"b\", \"a\":(1)2, \"c\"}",
                          "all_gather dim 0 over {\"a\":(1)2}"));
}

/// What will be whole but for "b" is gathered whole and split again.
TEST_F(ReshardPlannerTest, WholeAndSplitAgainAfterAShareOfTheWork) {
  Mesh three{{{"a", 2}, {"b", 3}, {"c", 8}}};
  AxisRef a{0, 1, 2}, b{1, 1, 3}, c{2, 1, 8};
  EXPECT_THAT(plan(three, {24, 24}, make({{a}, {}}, {b}),
                   make({{b}, {}}, {a, c}), usual),
              ElementsAre("all_slice dim 0 over {\"c\":(1)4}",
                          "mask_to_unreduced over {\"c\":(4)2}",
                          "reduce_scatter dim 0 over {\"b\"}",
                          "all_gather dim 0 over {\"a\", \"c\":(1)4, \"b\"}",
                          "all_slice dim 0 over {\"b\"}",
                          "mask_to_unreduced over {\"a\", \"c\":(1)4}"));
}

/// What will be terms may split dimensions on the way, one digit like another.
TEST_F(ReshardPlannerTest, AxesOfTermsShareTheWork) {
  Mesh three{{{"a", 8}, {"b", 2}, {"c", 3}}};
  AxisRef a{0, 1, 8}, b{1, 1, 2}, c{2, 1, 3};
  std::optional<ReshardPlan> plan = planReshard(
      three, {12, 12}, 4, make({{c}, {b}}), make({{}, {c, b}}, {a}), bytesOnly);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->wireBytes(), 116);
}

TEST_F(ReshardPlannerTest, SomeOfTheReductionAxesAreSplit) {
  EXPECT_THAT(plan(mesh, {16, 16}, make({{}, {}}, {a, b}), make({{a}, {}})),
              ElementsAre("reduce_scatter dim 0 over {\"a\"}",
                          "all_reduce over {\"b\"}"));
}

TEST_F(ReshardPlannerTest, ReductionAxesSplitTwoDimensions) {
  EXPECT_THAT(plan(mesh, {16, 16}, make({{}, {}}, {a, b}), make({{b}, {a}})),
              ElementsAre("reduce_scatter dim 0 over {\"b\"}",
                          "reduce_scatter dim 1 over {\"a\"}"));
}

/// Also where latency is all that counts.
TEST_F(ReshardPlannerTest, LatencyDoesNotBringBackAllReduceAndSlice) {
  cost::CollectiveCost latencyOnly(cost::Link{1, 0});
  EXPECT_THAT(plan(mesh, {16, 16}, make({{}, {}}, {a, b}), make({{a}, {}}),
                   latencyOnly),
              UnorderedElementsAre("reduce_scatter dim 0 over {\"a\"}",
                                   "all_reduce over {\"b\"}"));
}

/// What both shardings do alike is left alone: no axis of `fixed` appears.
TEST_F(ReshardPlannerTest, UnreducedInBothStaysUnreduced) {
  EXPECT_THAT(plan(mesh, {16, 16}, make({{b}, {}}, {a}), make({{}, {b}}, {a})),
              ElementsAre("all_to_all split 1 concat 0 over {\"b\"}"));
}

TEST_F(ReshardPlannerTest, SliceBeforeExchangeSavesBytes) {
  EXPECT_THAT(plan(mesh, {16, 16}, make({{a}, {}}), make({{}, {a, b}})),
              ElementsAre("all_slice dim 0 over {\"b\"}",
                          "all_to_all split 1 concat 0 over {\"a\", \"b\"}"));
}

/// Gathering "a" would send 7/8 of the tensor.
TEST_F(ReshardPlannerTest, PermuteThenGatherBeatsGatherThenSlice) {
  EXPECT_THAT(plan(mesh, {16, 16}, make({{a}, {}}), make({{b}, {}})),
              ElementsAre("permute from {\"a\"} to {\"b\", \"a\":(1)4}",
                          "all_gather dim 0 over {\"a\":(1)4}"));
}

TEST_F(ReshardPlannerTest, OrderOfAxesIsChangedByOnePermute) {
  EXPECT_THAT(plan(mesh, {16, 16}, make({{a, b}, {}}), make({{b, a}, {}})),
              ElementsAre("permute from {\"a\", \"b\"} to {\"b\", \"a\"}"));
}

TEST_F(ReshardPlannerTest, SubAxisIsGathered) {
  EXPECT_THAT(plan(mesh, {16, 16}, make({{a}, {}}), make({{aMajor}, {}})),
              ElementsAre("all_gather dim 0 over {\"a\":(2)4}"));
}

TEST_F(ReshardPlannerTest, ReplicatedBecomesUnreducedByMasking) {
  EXPECT_THAT(plan(mesh, {16, 16}, make({{b}, {}}), make({{b}, {}}, {a})),
              ElementsAre("mask_to_unreduced over {\"a\"}"));
  EXPECT_THAT(
      plan(mesh, {16, 16}, make({{}, {}}, {b}, Reduction::Max),
           make({{}, {}}, {a}, Reduction::Min)),
      ElementsAre("all_reduce over {\"b\"}", "mask_to_unreduced over {\"a\"}"));
}

/// (1)2 and (1)3 of an axis of 6 have no common digits: the axis is gathered
/// whole, then sliced anew.
TEST_F(ReshardPlannerTest, ClashingSubAxesMeetInTheMiddle) {
  Mesh six{{{"c", 6}}};
  EXPECT_THAT(
      plan(six, {12}, make({{AxisRef{0, 1, 2}}}), make({{AxisRef{0, 1, 3}}})),
      ElementsAre("all_gather dim 0 over {\"c\":(1)2}",
                  "all_slice dim 0 over {\"c\":(1)3}"));
}

/// Nor are terms over (1)3 reduced whole to be sliced over (2)3: the parts of a
/// reduce-scatter are what is wanted, on other devices.
TEST_F(ReshardPlannerTest, ClashingTermsAreReduceScattered) {
  Mesh six{{{"c", 6}}};
  AxisRef major{0, 1, 3}, minor{0, 2, 3};
  EXPECT_THAT(
      plan(six, {12, 4}, make({{}, {}}, {major}), make({{minor}, {}}), usual),
      ElementsAre("reduce_scatter dim 0 over {\"c\":(1)3}",
                  "permute from {\"c\":(3)2, \"c\":(1)3} to {\"c\"}"));
  EXPECT_THAT(
      plan(six, {12, 4}, make({{}, {}}, {minor}), make({{major}, {}}), usual),
      ElementsAre("reduce_scatter dim 0 over {\"c\":(2)3}",
                  "permute from {\"c\":(2)3, \"c\":(1)2} to {\"c\"}"));
}

/// A third of the devices is not a half: the half is sliced first, from what
/// all devices hold alike.
TEST_F(ReshardPlannerTest, ClashingTermsOfAnotherSizeAreReducedInParts) {
  Mesh six{{{"c", 6}}};
  EXPECT_THAT(plan(six, {12, 4}, make({{}, {}}, {AxisRef{0, 1, 3}}),
                   make({{AxisRef{0, 1, 2}}, {}})),
              ElementsAre("all_slice dim 0 over {\"c\":(3)2}",
                          "all_reduce over {\"c\":(1)3}",
                          "permute from {\"c\":(3)2, \"c\":(1)3} to {\"c\"}"));
}

TEST_F(ReshardPlannerTest, ClashingTermsStayTerms) {
  Mesh six{{{"c", 6}}};
  EXPECT_THAT(plan(six, {12}, make({{}}, {AxisRef{0, 1, 3}}),
                   make({{}}, {AxisRef{0, 2, 3}})),
              ElementsAre("permute from {\"c\":(3)2, \"c\":(1)3} to {\"c\"}"));
}

/// Two axes at once, each with several ways to pair its digits.
TEST_F(ReshardPlannerTest, ClashingAxesOfSeveralDigits) {
  Mesh mesh{{{"c", 12}, {"d", 6}}};
  AxisRef c{0, 1, 4}, cMinor{0, 3, 4}, d{1, 1, 3}, dMinor{1, 2, 3};
  for (const std::string &step :
       plan(mesh, {24, 12}, make({{}, {}}, {c, d}), make({{dMinor}, {cMinor}})))
    EXPECT_EQ(step.find("all_reduce"), std::string::npos) << step;
}

TEST_F(ReshardPlannerTest, AxesOfSizeOneMoveNothing) {
  Mesh one{{{"a", 1}, {"b", 2}}};
  AxisRef a{0, 1, 1}, b{1, 1, 2};
  EXPECT_THAT(plan(one, {4}, make({{}}, {a}), make({{}})), IsEmpty());
  EXPECT_THAT(plan(one, {4}, make({{a}}), make({{b}})),
              ElementsAre("all_slice dim 0 over {\"b\"}"));
}

TEST_F(ReshardPlannerTest, WhatDoesNotFitHasNoPlan) {
  EXPECT_THAT(plan(mesh, {10}, make({{}}), make({{a}})),
              ElementsAre("no plan"));
  EXPECT_THAT(plan(mesh, {16}, make({{}, {}}), make({{a}, {}})),
              ElementsAre("no plan"));
  EXPECT_THAT(plan(mesh, {16}, make({{}}), make({{a, a}})),
              ElementsAre("no plan"));
}

TEST_F(ReshardPlannerTest, LinksDecideBetweenAxes) {
  // Reducing over the slow "a" after the fast "b" has shrunk the value.
  cost::CollectiveCost slowA({{2, {0, 1e-9}}, {16, {0, 1e-6}}});
  EXPECT_THAT(
      plan(mesh, {16, 16}, make({{}, {}}, {a, b}), make({{a}, {b}}), slowA),
      ElementsAre("reduce_scatter dim 1 over {\"b\"}",
                  "reduce_scatter dim 0 over {\"a\"}"));
}

TEST_F(ReshardPlannerTest, PlanCountsBytes) {
  std::optional<ReshardPlan> plan = planReshard(
      mesh, {16, 16}, 4, make({{a}, {}}), make({{b}, {}}), bytesOnly);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->wireBytes(), 1024 / 8 + 1024 * 3 / 8);
  EXPECT_EQ(plan->numCollectives(), 2u);
  EXPECT_DOUBLE_EQ(plan->seconds(), 512e-9);
}
