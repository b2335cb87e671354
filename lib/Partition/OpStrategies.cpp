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
  key.push_back(elementBytes);
  for (const Move &each : moves) {
    const ElementMap &map = each.move.map;
    key.insert(key.end(), {each.move.dim, each.move.resultDim(), each.sharers});
    key.insert(key.end(), map.from.begin(), map.from.end());
    key.push_back(-1);
    key.insert(key.end(), map.to.begin(), map.to.end());
    key.push_back(-1);
    for (const ElementRun &run : map.runs)
      key.insert(key.end(), {run.from, run.to, run.length, run.step});
    if (each.move.windows)
      each.move.windows->addTo(key);
    for (const AxisList &axes : each.options)
      addAxes(key, axes);
    key.push_back(-2);
  }
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
      : problem(problem), rule(problem.rule), prices(prices),
        splitter(rule, prices) {}

  std::vector<OpStrategy> run();

private:
  void listMoves(const OpSplit &split, size_t index);
  void listWith(const OpSplit &split, int32_t factor);
  void addExchanges(const OpSplit &split, OpStrategy &strategy) const;
  void add(const OpSplit &split);

  const StrategyProblem &problem;
  const ShardingRule &rule;
  ReshardPrices &prices;
  OpSplitter splitter;
  /// By what they take and leave.
  std::map<std::pair<std::vector<int32_t>, std::vector<int32_t>>, size_t>
      numbers;
  std::vector<OpStrategy> strategies;
};

} // namespace

void Lister::addExchanges(const OpSplit &split, OpStrategy &strategy) const {
  for (const StrategyProblem::Move &each : problem.moves) {
    if (!split.moves(rule, each.move))
      continue;
    const AxisList &axes = split.factors[each.move.resultFactor(rule)];
    int64_t members = numShards(axes);
    double bytes = static_cast<double>(each.move.mostSent(members)) *
                   splitter.elementsBeside(each.move, split) *
                   static_cast<double>(problem.elementBytes);
    if (bytes == 0)
      continue;
    double sharers = static_cast<double>(each.sharers);
    strategy.exchangeBytes += bytes / sharers;
    strategy.exchangeSeconds +=
        prices.secondsToSend(static_cast<int64_t>(bytes), axes) / sharers;
  }
}

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
  addExchanges(split, strategy);
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
  if (split.isMoved(factor))
    return listWith(split, factor + 1);
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

/// With the dimensions of some moves split, and then anything else.
void Lister::listMoves(const OpSplit &split, size_t index) {
  if (index == problem.moves.size())
    return listWith(split, 0);
  const StrategyProblem::Move &each = problem.moves[index];
  for (const AxisList &axes : each.options) {
    OpSplit next = split;
    if (next.move(rule, each.move, axes))
      listMoves(next, index + 1);
  }
  listMoves(split, index + 1);
}

std::vector<OpStrategy> Lister::run() {
  OpSplit split;
  split.factors.resize(rule.factors.size());
  listMoves(split, 0);
  for (uint64_t holders :
       possibleHolders(problem.linearity, rule.operands.size()))
    for (uint64_t subset = 1; subset < uint64_t(1) << problem.terms.size();
         ++subset) {
      OpSplit onTerms = split;
      onTerms.heldBy = holders;
      for (auto [index, axis] : llvm::enumerate(problem.terms))
        if (subset >> index & 1)
          onTerms.terms.push_back(axis);
      listMoves(onTerms, 0);
    }
  return std::move(strategies);
}

std::vector<OpStrategy> weft::listStrategies(const StrategyProblem &problem,
                                             ReshardPrices &prices) {
  return Lister(problem, prices).run();
}
