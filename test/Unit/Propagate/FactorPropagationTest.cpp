//===- FactorPropagationTest.cpp - Axes of one factor of one node ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorPropagation.h"

#include "gmock/gmock.h"

using namespace weft::propagation;
using namespace weft::sharding;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

const Mesh mesh({{"a", 4}, {"b", 2}, {"c", 2}, {"d", 3}});
const AxisRef a{0, 1, 4}, aMajor{0, 1, 2}, aMinor{0, 2, 2}, b{1, 1, 2},
    c{2, 1, 2}, d{3, 1, 3};

/// A node whose tensors all have one dimension, of factor 0.
struct OneFactorNode {
  ShardingRule rule;
  NodeProjection node{mesh, rule, {}, {}, {}};

  OneFactorNode(std::initializer_list<AxisList> operands,
                std::initializer_list<AxisList> results, int64_t size = 96) {
    rule.addFactor(size);
    for (const AxisList &axes : operands) {
      rule.operands.push_back({{0}});
      add(axes, size);
    }
    for (const AxisList &axes : results) {
      rule.results.push_back({{0}});
      add(axes, size);
    }
  }

  void add(const AxisList &axes, int64_t size) {
    TensorProjection &tensor = node.tensors.emplace_back();
    tensor.factors.push_back({0, axes, false, true, {}});
    node.rooms.push_back({size});
    node.changed.push_back(false);
  }

  AxisList compatible(Direction direction = Direction::Both) {
    return compatibleAxes(node, 0, direction);
  }
  std::optional<AxisRef> within(AxisRef axis, int64_t before = 1,
                                PropagationOptions options = {}) {
    return prefixWithinFactor(axis, before, node, 0, 0, options);
  }
  FactorSharding &factor() { return node.tensors[0].factors[0]; }
};

TEST(CompatibleAxes, ListsThatContinueEachOtherAddUp) {
  EXPECT_THAT(OneFactorNode({{}, {b}}, {{b, c}}).compatible(),
              ElementsAre(b, c));
  EXPECT_THAT(OneFactorNode({{b, c}, {b}}, {{}}).compatible(),
              ElementsAre(b, c));
}

TEST(CompatibleAxes, TheFirstDisagreementEndsTheListForGood) {
  EXPECT_THAT(OneFactorNode({{b, c}, {b, a}}, {{}}).compatible(),
              ElementsAre(b));
  EXPECT_THAT(OneFactorNode({{b}, {c}}, {{}}).compatible(), IsEmpty());
  // The third list continues the first, but comes after the conflict.
  EXPECT_THAT(OneFactorNode({{b, c}, {b, a}}, {{b, c, a}}).compatible(),
              ElementsAre(b));
}

TEST(CompatibleAxes, AShorterSubAxisAtTheEndOfItsListKeepsTheLonger) {
  EXPECT_THAT(OneFactorNode({{a}, {aMajor}}, {{}}).compatible(),
              ElementsAre(a));
  EXPECT_THAT(OneFactorNode({{aMajor}, {a, b}}, {{}}).compatible(),
              ElementsAre(a, b));
}

TEST(CompatibleAxes, AShorterSubAxisBeforeTheEndCutsTheLonger) {
  EXPECT_THAT(OneFactorNode({{a, b}, {aMajor, c}}, {{}}).compatible(),
              ElementsAre(aMajor));
  EXPECT_THAT(OneFactorNode({{aMajor, c}, {a}}, {{}}).compatible(),
              ElementsAre(aMajor));
}

TEST(CompatibleAxes, PartsOfDifferentPlacesDisagree) {
  EXPECT_THAT(OneFactorNode({{b, aMinor}, {b, aMajor}}, {{}}).compatible(),
              ElementsAre(b));
}

TEST(CompatibleAxes, ForwardResultsOnlyConflict) {
  OneFactorNode node({{b}}, {{b, c}});
  EXPECT_THAT(node.compatible(Direction::Forward), ElementsAre(b));
  EXPECT_THAT(node.compatible(Direction::Backward), ElementsAre(b, c));
  EXPECT_THAT(OneFactorNode({{b, c}}, {{b, a}}).compatible(Direction::Forward),
              ElementsAre(b));
  EXPECT_THAT(node.compatible(Direction::None), IsEmpty());
}

TEST(CompatibleAxes, BackwardOperandsOnlyConflict) {
  OneFactorNode node({{b, c}}, {{b}});
  EXPECT_THAT(node.compatible(Direction::Backward), ElementsAre(b));
  EXPECT_THAT(node.compatible(Direction::Forward), ElementsAre(b, c));
}

TEST(WithinFactor, OpenTakesWhatDivides) {
  OneFactorNode node({{}}, {}, /*size=*/12);
  EXPECT_EQ(node.within(a), a);
  EXPECT_EQ(node.within(b, 4), std::nullopt) << "12 / 4 is odd";
  EXPECT_EQ(node.within(a, 2), aMajor) << "6 has room for 2 of 4";
  EXPECT_EQ(node.within(b, 5), std::nullopt);
}

TEST(WithinFactor, MinorMostTakesAnythingIfUnevenIsAllowed) {
  OneFactorNode node({{}}, {}, /*size=*/7);
  PropagationOptions uneven;
  uneven.allowUneven = true;
  EXPECT_EQ(node.within(a), std::nullopt);
  EXPECT_EQ(node.within(a, 1, uneven), a);
  node.factor().minorMost = false;
  EXPECT_EQ(node.within(a, 1, uneven), std::nullopt);
}

TEST(WithinFactor, ClosedKeepsWhatItHas) {
  OneFactorNode node({{a}}, {});
  node.factor().closed = true;
  EXPECT_EQ(node.within(a), a);
  EXPECT_EQ(node.within(aMajor), aMajor);
  EXPECT_EQ(node.within(b), std::nullopt);
  node.factor().axes = {aMajor};
  EXPECT_EQ(node.within(a), aMajor) << "a prefix of the candidate";
}

TEST(WithinFactor, OverflowTakesNothing) {
  OneFactorNode node({{}}, {});
  node.factor().overflow = {d};
  EXPECT_EQ(node.within(b), std::nullopt);
}

TEST(WithinFactor, ReplicatedAndUnreducedAxesAreNotTaken) {
  OneFactorNode node({{}}, {});
  node.node.tensors[0].replicated = {aMinor};
  node.node.tensors[0].unreduced = {b};
  EXPECT_EQ(node.within(a), aMajor);
  EXPECT_EQ(node.within(b), std::nullopt);
  EXPECT_EQ(node.within(c), c);
}

TEST(AcrossFactors, OtherFactorsKeepTheirAxes) {
  TensorProjection tensor;
  tensor.factors = {{0, {}, false, true, {}},
                    {1, {aMinor}, false, false, {d}},
                    {2, {b}, false, true, {}}};
  EXPECT_EQ(prefixAcrossFactors(a, tensor, 0), aMajor);
  EXPECT_EQ(prefixAcrossFactors(b, tensor, 0), std::nullopt);
  EXPECT_EQ(prefixAcrossFactors(b, tensor, 2), b);
  EXPECT_EQ(prefixAcrossFactors(d, tensor, 0), std::nullopt);
  EXPECT_EQ(prefixAcrossFactors(c, tensor, 0), c);
}

TEST(TruncateAxes, StopsAtTheFirstAxisThatIsShortenedOrDropped) {
  auto shortenA = [](AxisRef ref, int64_t) {
    return std::optional(ref == a ? aMajor : ref);
  };
  AxisList axes = {b, a, c};
  truncateAxes(axes, /*fullAxesOf=*/nullptr, shortenA);
  EXPECT_THAT(axes, ElementsAre(b, aMajor));
  axes = {b, a, c};
  truncateAxes(axes, &mesh, shortenA);
  EXPECT_THAT(axes, ElementsAre(b));
  axes = {b, a, c};
  truncateAxes(axes, nullptr, [](AxisRef ref, int64_t before) {
    return before < 8 ? std::optional(ref) : std::nullopt;
  });
  EXPECT_THAT(axes, ElementsAre(b, a));
}

} // namespace
