//===- BatchRows.cpp - What the rows of a batch are computed to -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchRows.h"

#include "Stages.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace weft;
using sharding::FactorKind;
using sharding::OpCategory;
using sharding::ShardingRule;
using sharding::TensorFactors;

//===----------------------------------------------------------------------===//
// Rows and factors
//===----------------------------------------------------------------------===//

std::optional<RowFactor> weft::findRowFactor(const ShardingRule &rule,
                                             const TensorFactors &tensor,
                                             Rows rows, int64_t batch) {
  if (size_t(rows.dim) >= tensor.size())
    return std::nullopt;
  // Elements of a row that are in factors behind.
  int64_t behind = 1;
  for (int32_t factor : llvm::reverse(tensor[rows.dim])) {
    if (rows.inner % behind != 0)
      return std::nullopt;
    int64_t inner = rows.inner / behind, size = rule.factors[factor].size;
    if (size % (inner * batch) == 0)
      return RowFactor{factor, inner};
    behind *= size;
  }
  return std::nullopt;
}

std::optional<Rows> weft::findRows(const ShardingRule &rule,
                                   const TensorFactors &tensor,
                                   RowFactor wanted) {
  for (auto [dim, factors] : llvm::enumerate(tensor)) {
    int64_t inner = wanted.inner;
    for (int32_t factor : llvm::reverse(factors)) {
      if (factor == wanted.factor)
        return Rows{int64_t(dim), inner};
      inner *= rule.factors[factor].size;
    }
  }
  return std::nullopt;
}

std::optional<ShardingRule> weft::ruleOf(Operation *op) {
  if (auto boundary = dyn_cast<StageBoundaryOp>(op)) {
    RankedTensorType type = typeOf(boundary);
    SmallVector<size_t> ranks(op->getNumOperands(), type.getRank());
    return sharding::elementwiseRule(type.getShape(), ranks, /*numResults=*/1);
  }
  if (auto model = dyn_cast<ShardingRuleOpInterface>(op))
    return model.getShardingRule();
  return std::nullopt;
}

bool weft::keepsRows(Operation *op, const ShardingRule &rule,
                     RowFactor factor) {
  if (rule.factors[factor.factor].kind != FactorKind::PassThrough)
    return false;
  auto hasFactor = [&](const TensorFactors &tensor) {
    return findRows(rule, tensor, factor).has_value();
  };
  // Positions of a sequence are compared with each other.
  if (isa<AttentionOp, AttentionGradOp>(op))
    return findRows(rule, rule.operands.front(), factor)->dim != 1;
  if (auto iota = dyn_cast<IotaOp>(op))
    return findRows(rule, rule.results.front(), factor)->dim !=
           int64_t(iota.getDim());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  // What no operand has is looked up.
  return isa<BroadcastOp>(op) || llvm::any_of(rule.operands, hasFactor);
}

/// Whether `op` on some of the rows computes a term of its result.
static bool addsRows(Operation *op, const ShardingRule &rule,
                     RowFactor factor) {
  return rule.factors[factor.factor].kind == FactorKind::Reduction &&
         rule.reduction == sharding::Reduction::Sum &&
         (rule.category != OpCategory::Lookup || isa<ScatterAddOp>(op));
}

/// Whether a sum of results is the result of the sums, and as exact. On the way
/// to a cast to a wider type, in which to sum, there may be moves.
static bool keepsTerms(Operation *op) {
  bool isMove = isa<ReshapeOp, TransposeOp>(op) ||
                (isa<ReduceOp>(op) && // of dimensions of size 1
                 typeOf(op->getOperand(0)).getNumElements() ==
                     typeOf(op->getResult(0)).getNumElements());
  if (isMove)
    return typeOf(op->getResult(0)).getElementTypeBitWidth() < 32;
  return isa<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp,
             arith::NegFOp, arith::ExtFOp, StageBoundaryOp>(op);
}

static bool isHeavy(Operation *op) {
  return isa<ProductOpInterface, AttentionOp, AttentionGradOp, StageBoundaryOp>(
      op);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

llvm::DenseSet<Value> weft::findStates(func::FuncOp entry) {
  llvm::StringSet<> results;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    results.insert(getResultName(entry, i));
  llvm::DenseSet<Value> states;
  for (BlockArgument argument : entry.getArguments())
    if (results.contains(getArgumentName(entry, argument.getArgNumber())))
      states.insert(argument);
  return states;
}

BatchRows::BatchRows(func::FuncOp entry, ArrayRef<BlockArgument> arguments)
    : entry(entry), arguments(arguments),
      batch(typeOf(arguments.front()).getDimSize(0)) {
  costly = findStates(entry);
  for (BlockArgument argument : arguments)
    parts[argument].rows = Rows();
  for (Operation &op : entry.front().without_terminator())
    visit(&op);
}

void BatchRows::setAll(Operation *op, Part part) {
  for (Value result : op->getResults())
    parts[result] = part;
}

void BatchRows::visit(Operation *op) {
  ValueRange operands = computedFrom(op);
  // A cotangent goes back where its value came from, also one that depends on
  // no row.
  if (auto boundary = dyn_cast<StageBoundaryOp>(op))
    if (Value mirrored = boundary.getOf())
      if (of(mirrored).share == Share::Rows &&
          of(boundary.getOperand()).share == Share::Whole)
        operands = op->getOperands();
  if (isHeavy(op) || llvm::any_of(operands, [&](Value operand) {
        return costly.contains(operand);
      }))
    costly.insert(op->result_begin(), op->result_end());
  auto any = [&](Share share) {
    return llvm::any_of(
        operands, [&](Value operand) { return of(operand).share == share; });
  };
  if (any(Share::Term) || any(Share::Total))
    return visitBehindTerms(op);
  if (any(Share::Rows)) {
    std::optional<ShardingRule> rule = ruleOf(op);
    for (auto [index, operand] : llvm::enumerate(operands))
      if (Part part = of(operand); rule && part.share == Share::Rows)
        if (auto factor =
                findRowFactor(*rule, rule->operands[index], *part.rows, batch))
          return visitInLoop(op, *factor);
    problems.push_back({op, nullptr});
    return setAll(op, {Share::Total, {}});
  }
  visitWhole(op);
}

/// Whether an op scales a term that is a number, as a loss, by one that is
/// there before the loop. It may go to another stage then.
bool BatchRows::scalesTerm(Operation *op) const {
  if (!isa<arith::MulFOp, arith::DivFOp>(op) ||
      typeOf(op->getResult(0)).getNumElements() != 1)
    return false;
  Share a = of(op->getOperand(0)).share, b = of(op->getOperand(1)).share;
  return (a == Share::Term && b == Share::Whole) ||
         (a == Share::Whole && b == Share::Term && isa<arith::MulFOp>(op));
}

/// An op that is computed from sums.
void BatchRows::visitBehindTerms(Operation *op) {
  ValueRange operands = computedFrom(op);
  bool isOnTerms = llvm::all_of(operands, [&](Value operand) {
    return of(operand).share == Share::Term;
  });
  if ((isOnTerms && keepsTerms(op)) || scalesTerm(op))
    return setAll(op, {Share::Term, {}});
  // As if the sums were there, to find what else there is.
  bool isNeeded = false;
  for (auto [index, operand] : llvm::enumerate(operands))
    if (Part part = of(operand);
        part.share == Share::Rows || part.share == Share::Same) {
      isNeeded = true;
      for (Value other : operands)
        if (Operation *term = findTerm(other))
          problems.push_back({term, op});
      std::optional<ShardingRule> rule = ruleOf(op);
      if (auto factor = rule && part.rows
                            ? findRowFactor(*rule, rule->operands[index],
                                            *part.rows, batch)
                            : std::nullopt;
          factor && splits(op, *factor))
        return placeResults(op, *factor);
    }
  setAll(op, {isNeeded ? Share::Same : Share::Total, {}});
}

/// The first term that a value behind the loop is computed from.
Operation *BatchRows::findTerm(Value value) const {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    Share share = of(next).share;
    if (!seen.insert(next).second ||
        (share != Share::Term && share != Share::Total))
      continue;
    ValueRange operands = computedFrom(next.getDefiningOp());
    if (share == Share::Term && of(operands.front()).share != Share::Term)
      return next.getDefiningOp();
    llvm::append_range(pending, operands);
  }
  return nullptr;
}

/// Whether the op can be computed for some rows of its operands.
bool BatchRows::splits(Operation *op, RowFactor factor) const {
  std::optional<ShardingRule> rule = ruleOf(op);
  bool adds = addsRows(op, *rule, factor);
  if (!adds && !keepsRows(op, *rule, factor))
    return false;
  for (auto [index, operand] : llvm::enumerate(computedFrom(op))) {
    const TensorFactors &tensor = rule->operands[index];
    Part part = of(operand);
    std::optional<Rows> wanted = findRows(*rule, tensor, factor);
    if (part.share == Share::Rows && wanted != part.rows)
      return false;
  }
  return llvm::all_of(rule->results, [&](const TensorFactors &tensor) {
    return findRows(*rule, tensor, factor).has_value() != adds;
  });
}

void BatchRows::placeResults(Operation *op, RowFactor factor) {
  std::optional<ShardingRule> rule = ruleOf(op);
  hasLoop = true;
  numHeavy += isHeavy(op);
  factors[op] = factor;
  for (auto [result, tensor] :
       llvm::zip_equal(op->getResults(), rule->results)) {
    std::optional<Rows> rows = findRows(*rule, tensor, factor);
    parts[result] = {rows ? Share::Rows : Share::Term, rows};
  }
}

void BatchRows::visitInLoop(Operation *op, RowFactor factor) {
  if (splits(op, factor))
    return placeResults(op, factor);
  problems.push_back({op, nullptr});
  setAll(op, {Share::Total, {}});
}

/// An op that is computed from what is the same for all micro-batches.
void BatchRows::visitWhole(Operation *op) {
  std::optional<ShardingRule> rule = ruleOf(op);
  bool isCostly = costly.contains(op->getResult(0));
  // A barrier waits for values of the loop.
  bool isInLoop = llvm::any_of(op->getOperands(), [&](Value operand) {
    return of(operand).share != Share::Whole;
  });
  bool hasRows = false;
  Part part = {isInLoop ? Share::Same : Share::Whole, {}};
  for (auto [index, operand] : llvm::enumerate(computedFrom(op))) {
    std::optional<Rows> rows = of(operand).rows;
    hasRows |= rows.has_value();
    std::optional<RowFactor> factor;
    if (rule && rows)
      factor = findRowFactor(*rule, rule->operands[index], *rows, batch);
    if (!factor || !splits(op, *factor))
      continue;
    if (isCostly)
      return placeResults(op, *factor);
    part.rows = findRows(*rule, rule->results.front(), *factor);
    break;
  }
  setAll(op, part);
  if (hasRows && isHeavy(op))
    problems.push_back({op, nullptr});
  if (isa<StageBoundaryOp>(op) && !isInLoop)
    boundariesOutside.push_back(op);
}

std::optional<RowFactor> BatchRows::factorOf(Operation *op) const {
  auto found = factors.find(op);
  return found == factors.end() ? std::nullopt
                                : std::optional<RowFactor>(found->second);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string BatchRows::nameBatch() const {
  std::string names;
  for (BlockArgument argument : arguments)
    names += (names.empty() ? "\"" : ", \"") +
             getArgumentName(entry, argument.getArgNumber()) + "\"";
  return names;
}

void BatchRows::report(int64_t microbatches) const {
  // One for each line of the model: a norm over the batch is several sums.
  llvm::DenseSet<Location> reported;
  bool isFirst = true;
  for (auto [op, user] : problems) {
    if (!reported.insert(op->getLoc()).second)
      continue;
    auto error = op->emitError();
    error << "the batch cannot be split into " << microbatches
          << " micro-batches: ";
    if (!user)
      error << op->getName() << " of its rows is no sum over them";
    else
      error << op->getName()
            << " is a sum over its rows that is needed before all of them are "
               "computed";
    error << "; compute it for each row, or let the model have the loop over "
             "micro-batches";
    if (user)
      error.attachNote(user->getLoc()) << "needed here";
    if (!isFirst)
      continue;
    isFirst = false;
    error.attachNote(entry->getLoc()) << "the batch is " << nameBatch();
  }
}
