//===- AxisReach.cpp - Which axes may split what --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisReach.h"

#include "OpChoices.h"
#include "OpSplit.h"
#include "Regroupings.h"

#include "weft/IR/ValueSharding.h"
#include "weft/Sharding/Projection.h"

using namespace mlir;
using namespace weft;
using namespace weft::sharding;

using Id = ReshardPrices::Id;

static Id declaredOf(Value value, ReshardPrices &prices) {
  return prices.intern(getSharding(value), typeOf(value).getRank());
}

AxisReach::AxisReach(func::FuncOp function, ReshardPrices &prices)
    : prices(prices) {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    ArrayRef<int64_t> shape = typeOf(argument).getShape();
    TensorFactors &factors = dimsOfRank[shape.size()];
    dimsOf[argument] = {&factors, static_cast<Node>(sizeOf.size())};
    factors.resize(shape.size());
    for (auto [dim, size] : llvm::enumerate(shape)) {
      factors[dim] = {static_cast<int32_t>(dim)};
      addNode(size);
    }
  }
  for (Operation &op : block.without_terminator())
    addOp(&op);
  for (BlockArgument argument : block.getArguments())
    mark(argument, declaredOf(argument, prices));
  for (OpOperand &use : block.getTerminator()->getOpOperands())
    mark(use.get(),
         prices.intern(getResultSharding(function, use.getOperandNumber()),
                       typeOf(use.get()).getRank()));
  for (Operation &op : block.without_terminator())
    for (Value result : op.getResults())
      mark(result, declaredOf(result, prices));

  classes.grow(sizeOf.size());
  for (auto [a, b] : links)
    classes.join(a, b);
  classes.compress();
  reach.resize(classes.getNumClasses(), 0);
  for (auto [node, axes] : marks)
    reach[classes[node]] |= axes;
  for (Operation &op : block.without_terminator())
    findTerms(&op);
}

AxisReach::Node AxisReach::addNode(int64_t size) {
  sizeOf.push_back(size);
  return sizeOf.size() - 1;
}

void AxisReach::addOp(Operation *op) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled)
    return;
  ops[op] = rules.size();
  const auto &[rule, first] = rules.emplace_back(
      OpRule{ruled.getShardingRule(), static_cast<Node>(sizeOf.size())});
  for (const Factor &factor : rule.factors)
    addNode(factor.size);
  for (auto [value, tensor] : llvm::zip(op->getOperands(), rule.operands))
    connect(dimsOf.at(value), {&tensor, first});
  for (auto [value, tensor] : llvm::zip(op->getResults(), rule.results))
    dimsOf[value] = {&tensor, first};
  // Both sides of what elements are moved along.
  for (const ElementMove &move : findMoves(op))
    for (int32_t factor : move.operandFactors(rule))
      links.push_back({first + factor, first + move.resultFactor(rule)});
}

/// Joins the factors of dimensions that are put together alike, and the major
/// ones of others: only these can be split without the rest.
void AxisReach::connect(const Dims &a, const Dims &b) {
  for (const auto &[first, second] : llvm::zip_equal(*a.factors, *b.factors)) {
    bool alike = llvm::equal(first, second, [&](int32_t x, int32_t y) {
      return sizeOf[a.first + x] == sizeOf[b.first + y];
    });
    for (auto [x, y] : llvm::zip(first, second)) {
      links.push_back({a.first + x, b.first + y});
      if (!alike)
        break;
    }
  }
}

void AxisReach::mark(Value value, Id sharding) {
  const Dims &dims = dimsOf.at(value);
  for (auto [factors, dim] :
       llvm::zip_equal(*dims.factors, prices.get(sharding).dims))
    for (int32_t factor : factors)
      for (const AxisRef &ref : dim.axes)
        marks.push_back({dims.first + factor, uint64_t(1) << ref.axis});
}

AxisList AxisReach::axesOf(uint64_t bits) const {
  AxisList axes;
  for (int32_t axis = 0; bits >> axis; ++axis)
    if (bits >> axis & 1)
      axes.push_back(prices.getMesh().fullAxis(axis));
  return axes;
}

/// What a split of a reduction factor leaves is partial over its axes; so is
/// what a linear op makes of such values.
void AxisReach::findTerms(Operation *op) {
  const ShardingRule *rule = findRule(op);
  if (!rule)
    return;
  auto ruled = cast<ShardingRuleOpInterface>(op);
  Linearity linearity = usefulLinearity(ruled);
  uint64_t passed = 0;
  if (linearity != Linearity::NotLinear)
    for (auto [index, value] : llvm::enumerate(op->getOperands()))
      if (index == 0 || linearity != Linearity::LinearInFirst)
        passed |= terms.lookup(value);
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    uint64_t made = passed;
    if (rule->reduction == Reduction::Sum)
      for (size_t factor = 0; factor < rule->factors.size(); ++factor)
        if (rule->isReducedIn(index, factor))
          made |= reachOf(nodeOf(op, factor));
    for (const ElementMove &move : findMoves(op))
      if (move.isSummed())
        made |= reachOf(nodeOf(op, move.resultFactor(*rule)));
    if (made)
      terms[result] = made;
  }
}

/// All lists of some of the axes, in mesh order.
static void addSubsets(SmallVectorImpl<AxisList> &lists,
                       ArrayRef<AxisRef> axes) {
  for (uint64_t subset = 1; subset < uint64_t(1) << axes.size(); ++subset) {
    AxisList list;
    for (auto [index, axis] : llvm::enumerate(axes))
      if (subset >> index & 1)
        list.push_back(axis);
    lists.push_back(std::move(list));
  }
}

/// What may split the dimension of a move: what splits the result and some
/// operand. Of what only one side has, a part can be taken, or gathered, as
/// well.
SmallVector<AxisList, 3> AxisReach::axesOfMove(Operation *op,
                                               const ShardingRule &rule,
                                               const ElementMove &move) const {
  uint64_t before = 0, both = reachOf(nodeOf(op, move.resultFactor(rule)));
  for (int32_t factor : move.operandFactors(rule))
    before |= reachOf(nodeOf(op, factor));
  return axesOfMove(op, move, both & before);
}

SmallVector<AxisList, 3> AxisReach::axesOfMove(Operation *op,
                                               const ElementMove &move,
                                               uint64_t both) const {
  SmallVector<AxisList> candidates;
  auto addDeclared = [&](Value value, int64_t dim) {
    AxisList axes = prices.get(declaredOf(value, prices)).dims[dim].axes;
    for (; !axes.empty(); axes.pop_back())
      candidates.push_back(axes);
  };
  addDeclared(move.isSummed() ? op->getOperand(1) : Value(op->getResult(0)),
              move.resultDim());
  for (Value operand :
       op->getOperands().take_front(move.windows ? 1 : op->getNumOperands()))
    addDeclared(operand, move.dim);
  llvm::erase_if(candidates, [&](const AxisList &axes) {
    return llvm::any_of(
        axes, [&](const AxisRef &ref) { return !(both >> ref.axis & 1); });
  });
  addSubsets(candidates, axesOf(both));
  SmallVector<AxisList, 3> options;
  for (const AxisList &axes : candidates)
    if (numShards(axes) > 1 && move.isDivisibleBy(numShards(axes)) &&
        !llvm::is_contained(options, axes))
      options.push_back(axes);
  return options;
}

/// The exchange for all slices of a value that have parts of a dimension.
const AxisReach::SharedMove &AxisReach::shareMove(Value value, int64_t dim,
                                                  int64_t parts) const {
  auto [entry, isNew] =
      sharedMoves.try_emplace({value.getAsOpaquePointer(), dim, parts});
  if (isNew) {
    RankedTensorType type = typeOf(value);
    SmallVector<Operation *> slices = findSlices(value, type, dim);
    llvm::erase_if(slices, [&](Operation *slice) {
      return !findSlice(slice, type)->map.isDivisibleBy(parts);
    });
    entry->second = {joinSlices(slices, type),
                     static_cast<int64_t>(slices.size())};
  }
  return entry->second;
}

void AxisReach::addMoves(Operation *op, StrategyProblem &problem) const {
  for (ElementMove &move : findMoves(op)) {
    SmallVector<AxisList, 3> options = axesOfMove(op, problem.rule, move);
    if (options.empty())
      continue;
    RankedTensorType type = typeOf(op->getOperand(0));
    problem.elementBytes = elementBytes(type);
    int64_t sharers = 1;
    if (findSlice(op, type)) {
      int64_t parts = 1;
      for (const AxisList &axes : options)
        parts = std::max(parts, numShards(axes));
      const SharedMove &shared = shareMove(op->getOperand(0), move.dim, parts);
      std::tie(move, sharers) = std::tie(shared.move, shared.sharers);
      llvm::erase_if(options, [&](const AxisList &axes) {
        return !move.map.isDivisibleBy(numShards(axes));
      });
    }
    problem.moves.push_back({std::move(move), sharers, std::move(options)});
  }
}

/// The axes of all factors of a dimension.
uint64_t AxisReach::reachOf(Value value, int64_t dim) const {
  uint64_t axes = 0;
  const Dims &dims = dimsOf.at(value);
  for (int32_t factor : (*dims.factors)[dim])
    axes |= reachOf(dims.first + factor);
  return axes;
}

std::vector<StrategyProblem> AxisReach::regroupingsOf(Operation *op) const {
  std::vector<StrategyProblem> problems;
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (!reshape)
    return problems;
  RankedTensorType before = typeOf(reshape.getOperand());
  RankedTensorType after = reshape.getType();
  for (Regrouping &regrouping : findRegroupings(before, after)) {
    ElementMove &move = regrouping.move;
    SmallVector<AxisList, 3> options =
        axesOfMove(op, move,
                   reachOf(reshape.getOperand(), move.dim) &
                       reachOf(reshape.getResult(), move.resultDim()));
    llvm::erase_if(options, [&](const AxisList &axes) {
      int64_t members = numShards(axes);
      return before.getDimSize(move.dim) % members != 0 ||
             after.getDimSize(move.resultDim()) % members != 0 ||
             move.map.dividedBy(members).mostSent(members) == 0;
    });
    if (options.empty())
      continue;
    StrategyProblem problem = problemOf(op);
    problem.elementBytes = elementBytes(before);
    // What splits the group otherwise is no strategy of this problem.
    for (auto [tensor, dims] :
         {std::pair(&problem.rule.operands.front(), move.operandDims()),
          std::pair(&problem.rule.results.front(), move.resultDims())})
      for (int64_t dim = dims.first; dim < dims.end; ++dim)
        for (int32_t factor : (*tensor)[dim])
          problem.options[factor].clear();
    problem.rule = std::move(regrouping.rule);
    problem.options.resize(problem.rule.factors.size());
    problem.moves.push_back({std::move(move), 1, std::move(options)});
    problems.push_back(std::move(problem));
  }
  return problems;
}

StrategyProblem AxisReach::problemOf(Operation *op) const {
  StrategyProblem problem;
  problem.rule = ruleOf(op);
  auto ruled = cast<ShardingRuleOpInterface>(op);
  problem.linearity = usefulLinearity(ruled);
  problem.options.resize(problem.rule.factors.size());
  auto addOption = [&](int32_t factor, const AxisList &axes) {
    if (!axes.empty() && mayBeSplit(problem.rule.factors[factor]) &&
        problem.rule.factors[factor].size % numShards(axes) == 0 &&
        !llvm::is_contained(problem.options[factor], axes))
      problem.options[factor].push_back(axes);
  };
  auto addDeclared = [&](Value value, const TensorFactors &tensor) {
    TensorProjection projection = project(
        tensor, problem.rule.factors, &prices.get(declaredOf(value, prices)));
    for (const FactorSharding &part : projection.factors)
      for (AxisList axes = part.axes; !axes.empty(); axes.pop_back())
        addOption(part.factor, axes);
  };
  for (auto [value, tensor] : llvm::zip(op->getResults(), problem.rule.results))
    addDeclared(value, tensor);
  for (auto [value, tensor] :
       llvm::zip(op->getOperands(), problem.rule.operands))
    addDeclared(value, tensor);
  for (int32_t factor = 0;
       factor < static_cast<int32_t>(problem.options.size()); ++factor) {
    SmallVector<AxisList> subsets;
    addSubsets(subsets, axesOf(reachOf(nodeOf(op, factor))));
    for (const AxisList &axes : subsets)
      addOption(factor, axes);
  }
  addMoves(op, problem);
  uint64_t held = 0;
  for (auto [index, value] : llvm::enumerate(op->getOperands()))
    if (index == 0 || problem.linearity != Linearity::LinearInFirst)
      held |= terms.lookup(value);
  if (problem.linearity != Linearity::NotLinear)
    problem.terms = axesOf(held);
  return problem;
}
