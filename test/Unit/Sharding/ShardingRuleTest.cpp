//===- ShardingRuleTest.cpp - Pointwise rules and reshape rules -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/ShardingRule.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace weft::sharding;

namespace {

TEST(ElementwiseRule, MapsEveryDimensionAndSkipsScalars) {
  ShardingRule rule = elementwiseRule({4, 8}, {0, 2, 2}, 1);
  EXPECT_EQ(print(rule), "([], [i, j], [i, j])->([i, j]) {i=4, j=8}");
  EXPECT_EQ(rule.category, OpCategory::Elementwise);
}

TEST(ElementwiseRule, Scalars) {
  EXPECT_EQ(print(elementwiseRule({}, {0, 0}, 1)), "([], [])->([]) {}");
}

TEST(ShardingRule, PrintsKindsAndBlockedFactors) {
  ShardingRule rule;
  int32_t m = rule.addFactor(4), n = rule.addFactor(16);
  int32_t k = rule.addFactor(8, FactorKind::Reduction);
  rule.operands = {{{m}, {k}}, {{k}, {n}}};
  rule.results = {{{m}, {n}}};
  EXPECT_EQ(print(rule),
            "([i, k], [k, j])->([i, j]) {i=4, j=16, k=8} reduction={k}");
  rule.factors[m].kind = FactorKind::NeedReplication;
  rule.factors[n] = {16, FactorKind::Permutation, true};
  EXPECT_EQ(print(rule), "([i, k], [k, j])->([i, j]) {i=4, j=16, k=8} "
                         "reduction={k} need_replication={i} permutation={j} "
                         "blocked={j}");
}

TEST(ShardingRule, PrintsMoreFactorsThanLetters) {
  Shape shape(19, 2);
  std::string text = print(elementwiseRule(shape, {}, 1));
  EXPECT_NE(text.find("y, z, z_1]"), std::string::npos) << text;
}

/// The rule without the sizes and kinds that follow it.
std::string mapping(const ShardingRule &rule) {
  std::string text = print(rule);
  return text.substr(0, text.find(" need_replication"));
}

struct ReshapeCase {
  Shape operand, result;
  const char *rule;
};

// The mappings that Shardy (jaxlib 0.10.2) derives for the same shapes.
const ReshapeCase reshapeCases[] = {
#include "ReshapeCases.inc"
};

TEST(ReshapeRule, AgreesWithShardy) {
  for (const ReshapeCase &each : reshapeCases)
    EXPECT_EQ(mapping(reshapeRule(each.operand, each.result)), each.rule);
}

/// Product of the factors of each dimension.
Shape dimSizes(const ShardingRule &rule, const TensorFactors &tensor) {
  Shape sizes;
  for (const DimFactors &dim : tensor) {
    sizes.push_back(1);
    for (int32_t factor : dim)
      sizes.back() *= rule.factors[factor].size;
  }
  return sizes;
}

/// For each factor of the tensor the product of all factors before it.
std::vector<int64_t> offsets(const ShardingRule &rule,
                             const TensorFactors &tensor) {
  std::vector<int64_t> offsets(rule.factors.size(), 0);
  int64_t product = 1;
  for (const DimFactors &dim : tensor)
    for (int32_t factor : dim) {
      offsets[factor] = product;
      product *= rule.factors[factor].size;
    }
  return offsets;
}

std::vector<Shape> shapesOf(int64_t elements, size_t maxRank) {
  if (elements == 1)
    return {{}};
  std::vector<Shape> shapes;
  if (maxRank == 0)
    return shapes;
  for (int64_t last = 2; last <= elements; ++last)
    if (elements % last == 0)
      for (Shape shape : shapesOf(elements / last, maxRank - 1)) {
        shape.push_back(last);
        shapes.push_back(shape);
      }
  return shapes;
}

TEST(ReshapeRule, FactorsMultiplyToTheShapesAndSharedOnesAlign) {
  for (int64_t elements : {12, 30, 36, 48})
    for (const Shape &operand : shapesOf(elements, 4))
      for (const Shape &result : shapesOf(elements, 4)) {
        ShardingRule rule = reshapeRule(operand, result);
        SCOPED_TRACE(print(rule));
        ASSERT_EQ(dimSizes(rule, rule.operands[0]), operand);
        ASSERT_EQ(dimSizes(rule, rule.results[0]), result);
        auto atOperand = offsets(rule, rule.operands[0]);
        auto atResult = offsets(rule, rule.results[0]);
        for (size_t f = 0; f < rule.factors.size(); ++f) {
          bool shared = atOperand[f] && atResult[f];
          EXPECT_TRUE(!shared || atOperand[f] == atResult[f]);
          EXPECT_EQ(rule.factors[f].kind == FactorKind::NeedReplication,
                    !shared);
        }
      }
}

TEST(ReshapeRule, IdentityAndMergingShareEverything) {
  EXPECT_EQ(print(reshapeRule({4, 6}, {4, 6})),
            "([i, j])->([i, j]) {i=4, j=6}");
  EXPECT_EQ(print(reshapeRule({4, 6}, {24})), "([i, j])->([ij]) {i=4, j=6}");
}

TEST(ReshapeRule, TensorsWithoutElementsShareNothing) {
  EXPECT_EQ(print(reshapeRule({0, 4}, {4, 0})),
            "([i, j])->([k, l]) {i=0, j=4, k=4, l=0} "
            "need_replication={i, j, k, l}");
}

} // namespace
