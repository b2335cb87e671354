//===- OpStrategies.cpp - All ways to split an op -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpStrategies.h"

#include "OpSplit.h"

#include <set>

using namespace mlir;
using namespace weft;
using namespace weft::sharding;

static void addAxes(std::vector<int64_t> &key, ArrayRef<AxisRef> axes) {
  for (const AxisRef &ref : axes)
    key.insert(key.end(), {ref.axis, ref.pre, ref.size});
  key.push_back(-1);
}

std::vector<int64_t> StrategyProblem::key() const {
  std::vector<int64_t> key = {static_cast<int64_t>(linearity),
                              static_cast<int64_t>(rule.category),
                              static_cast<int64_t>(rule.reduction)};
  for (auto [factor, lists] : llvm::zip_equal(rule.factors, options)) {
    key.insert(key.end(), {factor.size, static_cast<int64_t>(factor.kind)});
    for (const AxisList &axes : lists)
      addAxes(key, axes);
    key.push_back(-2);
  }
  for (ArrayRef<TensorFactors> tensors :
       {ArrayRef(rule.operands), ArrayRef(rule.results)}) {
    for (const TensorFactors &tensor : tensors) {
      for (const DimFactors &dim : tensor) {
        key.insert(key.end(), dim.begin(), dim.end());
        key.push_back(-3);
      }
      key.push_back(-4);
    }
    key.push_back(-5);
  }
  addAxes(key, terms);
  return key;
}

SmallVector<uint64_t> weft::possibleHolders(Linearity linearity,
                                            size_t numOperands) {
  switch (linearity) {
  case Linearity::NotLinear:
    return {};
  case Linearity::Linear:
    return {(uint64_t(1) << numOperands) - 1};
  case Linearity::LinearInFirst:
    return {1};
  case Linearity::LinearInOne:
    return llvm::map_to_vector(llvm::seq<size_t>(0, numOperands),
                               [](size_t i) { return uint64_t(1) << i; });
  }
  llvm_unreachable("all linearities are covered");
}

namespace {

class Lister {
public:
  Lister(const StrategyProblem &problem, ReshardPrices &prices)
      : problem(problem), rule(problem.rule), splitter(rule, prices) {}

  std::vector<OpStrategy> run();

private:
  void listWith(const OpSplit &split, int32_t factor);
  void add(const OpSplit &split);

  const StrategyProblem &problem;
  const ShardingRule &rule;
  OpSplitter splitter;
  /// By what they take and leave.
  std::map<std::pair<std::vector<int32_t>, std::vector<int32_t>>, size_t>
      numbers;
  std::vector<OpStrategy> strategies;
};

} // namespace

void Lister::add(const OpSplit &split) {
  if (!splitter.canBeSpelled(split))
    return;
  OpStrategy strategy;
  for (size_t i = 0; i < rule.operands.size(); ++i)
    strategy.operands.push_back(splitter.operandNeed(i, split));
  for (size_t i = 0; i < rule.results.size(); ++i)
    strategy.results.push_back(splitter.resultLeft(i, split));
  strategy.seconds = splitter.secondsToCompute(split);
  strategy.onTerms = !split.terms.empty();
  auto [entry, isNew] =
      numbers.try_emplace({{strategy.operands.begin(), strategy.operands.end()},
                           {strategy.results.begin(), strategy.results.end()}},
                          strategies.size());
  if (isNew)
    strategies.push_back(std::move(strategy));
  else if (strategy.seconds < strategies[entry->second].seconds)
    strategies[entry->second].seconds = strategy.seconds;
}

void Lister::listWith(const OpSplit &split, int32_t factor) {
  if (factor == static_cast<int32_t>(rule.factors.size()))
    return add(split);
  // Sums and maxima over devices do not mix.
  bool mixes = !split.terms.empty() && rule.reduction != split.termsKind &&
               rule.factors[factor].kind == FactorKind::Reduction;
  if (!mixes)
    for (const AxisList &axes : problem.options[factor]) {
      if (split.collides(factor, axes))
        continue;
      OpSplit next = split;
      next.factors[factor] = axes;
      listWith(next, factor + 1);
    }
  listWith(split, factor + 1);
}

std::vector<OpStrategy> Lister::run() {
  OpSplit split;
  split.factors.resize(rule.factors.size());
  listWith(split, 0);
  for (uint64_t holders :
       possibleHolders(problem.linearity, rule.operands.size()))
    for (uint64_t subset = 1; subset < uint64_t(1) << problem.terms.size();
         ++subset) {
      OpSplit onTerms = split;
      onTerms.heldBy = holders;
      for (auto [index, axis] : llvm::enumerate(problem.terms))
        if (subset >> index & 1)
          onTerms.terms.push_back(axis);
      listWith(onTerms, 0);
    }
  return std::move(strategies);
}

std::vector<OpStrategy> weft::listStrategies(const StrategyProblem &problem,
                                             ReshardPrices &prices) {
  return Lister(problem, prices).run();
}
