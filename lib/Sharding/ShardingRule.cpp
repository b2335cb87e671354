//===- ShardingRule.cpp - Rules of pointwise ops, and their print form ----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Sharding/ShardingRule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace weft::sharding {

int32_t ShardingRule::addFactor(int64_t size, FactorKind kind, bool blocked) {
  factors.push_back({size, kind, blocked});
  return static_cast<int32_t>(factors.size()) - 1;
}

bool ShardingRule::isReducedIn(size_t result, int32_t factor) const {
  return factors[factor].kind == FactorKind::Reduction &&
         llvm::none_of(results[result], [&](const DimFactors &dim) {
           return llvm::is_contained(dim, factor);
         });
}

ShardingRule elementwiseRule(llvm::ArrayRef<int64_t> shape,
                             llvm::ArrayRef<size_t> operandRanks,
                             size_t numResults) {
  ShardingRule rule;
  rule.category = OpCategory::Elementwise;
  TensorFactors all;
  for (int64_t size : shape)
    all.push_back({rule.addFactor(size)});
  for (size_t rank : operandRanks)
    rule.operands.push_back(rank == shape.size() ? all : TensorFactors());
  rule.results.assign(numResults, all);
  return rule;
}

/// i, j, ..., z, then z_1, z_2, ...
static std::string spellFactor(int32_t factor) {
  constexpr int32_t letters = 'z' - 'i' + 1;
  if (factor < letters)
    return std::string(1, char('i' + factor));
  return "z_" + std::to_string(factor - letters + 1);
}

static std::string print(const TensorFactors &tensor) {
  return "[" +
         llvm::join(llvm::map_range(tensor,
                                    [](const DimFactors &dim) {
                                      std::string text;
                                      for (int32_t factor : dim)
                                        text += spellFactor(factor);
                                      return text;
                                    }),
                    ", ") +
         "]";
}

static std::string print(llvm::ArrayRef<TensorFactors> tensors) {
  auto texts = llvm::map_range(
      tensors, [](const TensorFactors &tensor) { return print(tensor); });
  return "(" + llvm::join(texts, ", ") + ")";
}

/// ` word={i, j}` for the factors that `has` accepts; nothing if none.
template <typename Predicate>
static std::string printFactors(const ShardingRule &rule, const char *word,
                                Predicate has) {
  std::string names;
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if (has(factor))
      names += (names.empty() ? "" : ", ") + spellFactor(index);
  return names.empty() ? "" : std::string(" ") + word + "={" + names + "}";
}

std::string print(const ShardingRule &rule) {
  std::string sizes;
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    sizes += (index ? ", " : "") + spellFactor(index) + "=" +
             std::to_string(factor.size);
  auto isKind = [](FactorKind kind) {
    return [kind](const Factor &factor) { return factor.kind == kind; };
  };
  return print(rule.operands) + "->" + print(rule.results) + " {" + sizes +
         "}" + printFactors(rule, "reduction", isKind(FactorKind::Reduction)) +
         printFactors(rule, "need_replication",
                      isKind(FactorKind::NeedReplication)) +
         printFactors(rule, "permutation", isKind(FactorKind::Permutation)) +
         printFactors(rule, "blocked",
                      [](const Factor &factor) { return factor.blocked; });
}

} // namespace weft::sharding
