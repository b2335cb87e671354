//===- FactorChoice.cpp - Axes for the factors of an op -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactorChoice.h"

#include "OpSplit.h"

#include "weft/Sharding/Projection.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace weft;
using namespace weft::sharding;

using Id = ReshardPrices::Id;

/// Choices for all factors together that are priced one by one; with more, one
/// factor after the other is improved.
static constexpr size_t maxCombinations = 128;
static constexpr int maxRounds = 4;

//===----------------------------------------------------------------------===//
// Questions as keys
//===----------------------------------------------------------------------===//

static void addFactors(std::vector<int64_t> &key,
                       ArrayRef<TensorFactors> tensors) {
  for (const TensorFactors &tensor : tensors) {
    for (const DimFactors &dim : tensor) {
      key.insert(key.end(), dim.begin(), dim.end());
      key.push_back(-1);
    }
    key.push_back(-2);
  }
}

std::vector<int64_t> FactorProblem::key() const {
  std::vector<int64_t> key = {static_cast<int64_t>(linearity),
                              static_cast<int64_t>(rule.category),
                              static_cast<int64_t>(rule.reduction), isSummed};
  for (const Factor &factor : rule.factors)
    key.insert(key.end(), {factor.size, static_cast<int64_t>(factor.kind)});
  addFactors(key, rule.operands);
  addFactors(key, rule.results);
  for (const Operand &operand : operands) {
    key.insert(key.end(),
               {elementBytes(operand.type), elementBytes(operand.moved),
                operand.declared, operand.isOnlyUse, operand.sharers});
    key.insert(key.end(), operand.versions.begin(), operand.versions.end());
    key.push_back(-3);
  }
  for (const Result &result : results)
    key.insert(key.end(), {elementBytes(result.type), result.declared});
  for (const ElementMove &move : moves)
    move.windows->addTo(key);
  return key;
}

//===----------------------------------------------------------------------===//
// Lists of axes
//===----------------------------------------------------------------------===//

static AxisList common(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
  AxisList result;
  for (const AxisRef &ref : a)
    if (llvm::is_contained(b, ref))
      result.push_back(ref);
  return result;
}

namespace {

struct Choice : OpSplit {
  double seconds = std::numeric_limits<double>::infinity();
};

class FactorSolver {
public:
  FactorSolver(const FactorProblem &problem, ReshardPrices &prices);
  FactorSolution run();

private:
  void findOptions();
  void addOption(int32_t factor, const AxisList &axes);
  void addOptions(const TensorFactors &tensor, Id id);
  bool isAgreed(int32_t factor, AxisList &axes) const;
  bool mayPassTerms(size_t index) const;
  bool mayRunOnTerms(size_t held) const;
  AxisList findTerms(Reduction &kind) const;

  Choice chooseWith(const AxisList &terms, Reduction kind);
  void splitWindows(Choice &choice) const;
  /// `keepAgreed`: factors on which all tensors agree are not up for choice.
  Choice chooseWith(const AxisList &terms, Reduction kind, bool keepAgreed);
  void tryAll(ArrayRef<int32_t> open, Choice &trial, Choice &best);
  void improve(ArrayRef<int32_t> open, Choice &best);

  double price(const Choice &choice);

  const FactorProblem &problem;
  const ShardingRule &rule;
  ReshardPrices &prices;
  OpSplitter splitter;
  /// Axes of each factor as the declared sharding of a tensor has them.
  SmallVector<TensorProjection, 3> operands, results;
  /// By factor, in order of preference; without the empty list.
  SmallVector<SmallVector<AxisList, 3>, 4> options;
};

} // namespace

FactorSolver::FactorSolver(const FactorProblem &problem, ReshardPrices &prices)
    : problem(problem), rule(problem.rule), prices(prices),
      splitter(problem.rule, prices) {
  auto projectOne = [&](const TensorFactors &tensor, Id id) {
    return project(tensor, rule.factors, &prices.get(id));
  };
  for (auto [tensor, operand] :
       llvm::zip_equal(rule.operands, problem.operands))
    operands.push_back(projectOne(tensor, operand.declared));
  for (auto [tensor, result] : llvm::zip_equal(rule.results, problem.results))
    results.push_back(projectOne(tensor, result.declared));
  findOptions();
}

//===----------------------------------------------------------------------===//
// What there is to choose from
//===----------------------------------------------------------------------===//

void FactorSolver::addOption(int32_t factor, const AxisList &axes) {
  if (axes.empty() || rule.factors[factor].size % numShards(axes) != 0 ||
      llvm::is_contained(options[factor], axes))
    return;
  options[factor].push_back(axes);
}

void FactorSolver::addOptions(const TensorFactors &tensor, Id id) {
  TensorProjection projection = project(tensor, rule.factors, &prices.get(id));
  for (const FactorSharding &part : projection.factors) {
    if (!mayBeSplit(rule.factors[part.factor]))
      continue;
    AxisList axes = part.axes;
    for (; !axes.empty(); axes.pop_back())
      addOption(part.factor, axes);
  }
}

void FactorSolver::findOptions() {
  options.resize(rule.factors.size());
  for (auto [tensor, result] : llvm::zip_equal(rule.results, problem.results))
    addOptions(tensor, result.declared);
  for (auto [tensor, operand] :
       llvm::zip_equal(rule.operands, problem.operands)) {
    addOptions(tensor, operand.declared);
    for (Id version : operand.versions)
      addOptions(tensor, version);
  }
}

/// Whether all tensors that have the factor split it alike. A reduction factor
/// only operands have.
bool FactorSolver::isAgreed(int32_t factor, AxisList &axes) const {
  if (!mayBeSplit(rule.factors[factor]) || splitter.isLookedUp(factor))
    return false;
  bool first = true;
  for (ArrayRef<TensorProjection> tensors :
       {ArrayRef(operands), ArrayRef(results)})
    for (const TensorProjection &tensor : tensors)
      if (const FactorSharding *part = tensor.find(factor)) {
        if (!first && part->axes != axes)
          return false;
        axes = part->axes;
        first = false;
      }
  return !axes.empty() && llvm::is_contained(options[factor], axes);
}

/// Whether the operand holds terms that nobody else uses and in which the op
/// may be linear.
bool FactorSolver::mayPassTerms(size_t index) const {
  if (problem.linearity == Linearity::LinearInFirst && index != 0)
    return false;
  const FactorProblem::Operand &operand = problem.operands[index];
  return operand.versions.size() == 1 && operand.isOnlyUse &&
         !prices.get(operand.versions.front()).unreduced.empty();
}

/// Whether the op may run on the terms of the `held` operands that hold some.
bool FactorSolver::mayRunOnTerms(size_t held) const {
  switch (problem.linearity) {
  case Linearity::NotLinear:
    return false;
  case Linearity::Linear:
    return held == problem.operands.size();
  case Linearity::LinearInOne:
  case Linearity::LinearInFirst:
    return held == 1;
  }
  llvm_unreachable("all linearities are covered");
}

/// The axes along which terms may pass through the op: nobody else uses them,
/// and the op commutes with their combination.
AxisList FactorSolver::findTerms(Reduction &kind) const {
  AxisList terms;
  bool any = false;
  size_t held = 0;
  for (auto [index, operand] : llvm::enumerate(problem.operands)) {
    if (!mayPassTerms(index))
      continue;
    const Sharding &made = prices.get(operand.versions.front());
    ++held;
    if (any && made.unreducedKind != kind)
      return {};
    kind = made.unreducedKind;
    terms = any ? common(terms, made.unreduced) : made.unreduced;
    any = true;
  }
  if (kind != Reduction::Sum && !splitter.movesData())
    return {};
  return mayRunOnTerms(held) ? terms : AxisList();
}

//===----------------------------------------------------------------------===//
// Pricing a choice
//===----------------------------------------------------------------------===//

double FactorSolver::price(const Choice &choice) {
  if (!splitter.canBeSpelled(choice))
    return std::numeric_limits<double>::infinity();
  double total = splitter.secondsToCompute(choice);
  for (auto [index, operand] : llvm::enumerate(problem.operands)) {
    Id need = splitter.operandNeed(index, choice);
    double least = std::numeric_limits<double>::infinity();
    for (Id version : operand.versions)
      least = std::min(least, prices.seconds(version, need,
                                             prices.reduces(version, need)
                                                 ? operand.type
                                                 : operand.moved));
    total += least / static_cast<double>(operand.sharers);
  }
  for (auto [index, result] : llvm::enumerate(problem.results))
    total += prices.seconds(splitter.resultLeft(index, choice), result.declared,
                            result.type);
  return total;
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// Prices every combination of options of the open factors.
void FactorSolver::tryAll(ArrayRef<int32_t> open, Choice &trial, Choice &best) {
  if (open.empty()) {
    trial.seconds = price(trial);
    if (trial.seconds < best.seconds)
      best = trial;
    return;
  }
  int32_t factor = open.front();
  for (const AxisList &axes : options[factor])
    if (!trial.collides(factor, axes)) {
      trial.factors[factor] = axes;
      tryAll(open.drop_front(), trial, best);
    }
  trial.factors[factor].clear();
  tryAll(open.drop_front(), trial, best);
}

/// Starts from the result's wishes and improves one factor at a time.
void FactorSolver::improve(ArrayRef<int32_t> open, Choice &best) {
  for (int32_t factor : open)
    if (!options[factor].empty() &&
        !best.collides(factor, options[factor].front()))
      best.factors[factor] = options[factor].front();
  best.seconds = price(best);
  if (std::isinf(best.seconds)) {
    for (int32_t factor : open)
      best.factors[factor].clear();
    best.seconds = price(best);
  }
  for (int round = 0; round < maxRounds; ++round) {
    double before = best.seconds;
    for (int32_t factor : open) {
      Choice trial = best;
      trial.factors[factor].clear();
      tryAll({factor}, trial, best);
    }
    if (!(best.seconds < before))
      return;
  }
}

/// Splits what windows are of and the windows, if they are declared alike and
/// halos take less than the whole dimension.
void FactorSolver::splitWindows(Choice &choice) const {
  for (const ElementMove &move : problem.moves) {
    const FactorSharding *elements =
        operands.front().find(move.operandFactors(rule).front());
    const FactorSharding *windows =
        (move.isSummed() ? operands[1] : results.front())
            .find(move.resultFactor(rule));
    if (!elements || !windows || elements->axes != windows->axes)
      continue;
    const AxisList &axes = elements->axes;
    int64_t members = numShards(axes);
    if (members > 1 && move.isDivisibleBy(members) &&
        move.mostSent(members) <
            move.map.from.front() / members * (members - 1))
      choice.move(rule, move, axes);
  }
}

Choice FactorSolver::chooseWith(const AxisList &terms, Reduction kind) {
  Choice choice = chooseWith(terms, kind, /*keepAgreed=*/true);
  if (std::isinf(choice.seconds))
    choice = chooseWith(terms, kind, /*keepAgreed=*/false);
  return choice;
}

Choice FactorSolver::chooseWith(const AxisList &terms, Reduction kind,
                                bool keepAgreed) {
  Choice choice;
  choice.factors.resize(rule.factors.size());
  choice.terms = terms;
  choice.termsKind = kind;
  for (size_t index = 0; index < problem.operands.size(); ++index)
    if (!terms.empty() && mayPassTerms(index))
      choice.heldBy |= uint64_t(1) << index;
  if (keepAgreed)
    splitWindows(choice);
  SmallVector<int32_t, 4> open;
  size_t combinations = 1;
  for (FactorKind pass : {FactorKind::Reduction, FactorKind::PassThrough})
    for (int32_t factor = 0; factor < static_cast<int32_t>(options.size());
         ++factor) {
      if (rule.factors[factor].kind != pass || options[factor].empty())
        continue;
      AxisList axes;
      if (keepAgreed && isAgreed(factor, axes) &&
          !choice.collides(factor, axes)) {
        choice.factors[factor] = axes;
      } else {
        open.push_back(factor);
        combinations *= options[factor].size() + 1;
        combinations = std::min(combinations, maxCombinations + 1);
      }
    }
  llvm::sort(open);
  if (combinations > maxCombinations) {
    improve(open, choice);
    return choice;
  }
  Choice best = choice;
  tryAll(open, choice, best);
  return best;
}

FactorSolution FactorSolver::run() {
  Reduction kind = Reduction::Sum;
  AxisList terms = findTerms(kind);
  Choice best = chooseWith({}, kind);
  if (!terms.empty()) {
    Choice onTerms = chooseWith(terms, kind);
    if (onTerms.seconds <= best.seconds || problem.isSummed)
      best = onTerms;
  }
  FactorSolution solution;
  solution.onTerms = !best.terms.empty();
  for (size_t i = 0; i < problem.operands.size(); ++i)
    solution.operands.push_back(splitter.operandNeed(i, best));
  for (size_t i = 0; i < problem.results.size(); ++i)
    solution.results.push_back(splitter.resultLeft(i, best));
  return solution;
}

FactorSolution weft::chooseFactors(const FactorProblem &problem,
                                   ReshardPrices &prices) {
  return FactorSolver(problem, prices).run();
}
