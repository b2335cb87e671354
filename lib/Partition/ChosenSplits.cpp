//===- ChosenSplits.cpp - Choices as attributes of ops --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChosenSplits.h"

#include "HeldVersions.h"
#include "OpSplit.h"
#include "OpStrategies.h"
#include "Regroupings.h"

#include "weft/IR/OperandShardings.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Sharding/Projection.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace weft;
using namespace weft::sharding;

using Id = ReshardPrices::Id;

void weft::writeChoices(func::FuncOp function, const OpChoices &choices,
                        ReshardPrices &prices) {
  auto toAttrs = [&](ArrayRef<Id> ids) {
    return llvm::map_to_vector(
        ids, [&](Id id) -> Attribute { return prices.getAttr(id); });
  };
  for (Operation &op : function.getBody().front().without_terminator()) {
    auto found = choices.find(&op);
    if (found == choices.end())
      continue;
    setOperandShardings(&op, toAttrs(found->second.operands));
    op.setAttr(WeftDialect::kShardingsAttrName,
               ArrayAttr::get(op.getContext(), toAttrs(found->second.results)));
  }
}

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

namespace {

/// Whether an op can run in the shardings that its attributes give it.
class SplitCheck {
public:
  SplitCheck(ShardingRuleOpInterface op, const FactorSolution &choice,
             ReshardPrices &prices)
      : op(op), choice(choice), prices(prices), moves(findMoves(op)),
        rule(findRule()), splitter(rule, prices) {
    split.factors.resize(rule.factors.size());
  }

  LogicalResult run();

private:
  ShardingRule findRule();
  void readFactors(const TensorFactors &tensor, Id sharding);
  void readMoves();
  void readTerms();
  LogicalResult checkFactors();
  LogicalResult checkTerms();
  LogicalResult checkTensor(StringRef what, Id has, Id follows);
  std::string print(Id id) const {
    return sharding::print(prices.getMesh(), prices.get(id));
  }

  ShardingRuleOpInterface op;
  const FactorSolution &choice;
  ReshardPrices &prices;
  SmallVector<ElementMove, 1> moves;
  ShardingRule rule;
  OpSplitter splitter;
  OpSplit split;
};

} // namespace

/// The op's own, or that of the move which a reshape is.
ShardingRule SplitCheck::findRule() {
  auto reshape = dyn_cast<ReshapeOp>(*op);
  if (reshape && choice.operands.size() == 1)
    if (std::optional<Regrouping> regrouping =
            findRegrouping(typeOf(reshape.getOperand()), reshape.getType(),
                           prices.get(choice.operands.front()),
                           prices.get(choice.results.front()))) {
      moves = {regrouping->move};
      return regrouping->rule;
    }
  return op.getShardingRule();
}

/// Each factor is split as the first tensor says that splits it.
void SplitCheck::readFactors(const TensorFactors &tensor, Id sharding) {
  for (const FactorSharding &part :
       project(tensor, rule.factors, &prices.get(sharding)).factors)
    if (split.factors[part.factor].empty())
      split.factors[part.factor] = part.axes;
}

/// Both sides of a dimension along which elements are exchanged.
void SplitCheck::readMoves() {
  for (const ElementMove &move : moves)
    if (split.moves(rule, move)) {
      AxisList axes = split.factors[move.resultFactor(rule)];
      split.factors[move.resultFactor(rule)].clear();
      for (int32_t factor : move.operandFactors(rule))
        split.factors[factor].clear();
      split.move(rule, move, axes);
    }
}

void SplitCheck::readTerms() {
  for (auto [index, id] : llvm::enumerate(choice.operands)) {
    const Sharding &operand = prices.get(id);
    if (operand.unreduced.empty())
      continue;
    if (split.terms.empty()) {
      split.terms = operand.unreduced;
      split.termsKind = operand.unreducedKind;
    }
    split.heldBy |= uint64_t(1) << index;
  }
}

LogicalResult SplitCheck::checkFactors() {
  const Mesh &mesh = prices.getMesh();
  for (auto [index, axes] : llvm::enumerate(split.factors)) {
    const Factor &factor = rule.factors[index];
    if (axes.empty())
      continue;
    if (!mayBeSplit(factor) && !split.isMoved(index))
      return op.emitError() << "cannot run with a dimension of size "
                            << factor.size << " split over " << mesh.print(axes)
                            << ": the op needs it whole; take the operand "
                               "without these axes";
    if (factor.size % numShards(axes) != 0)
      return op.emitError()
             << "cannot run with a dimension of size " << factor.size
             << " split over " << mesh.print(axes)
             << ", which do not divide it; take the operand without these "
                "axes";
    if (!split.isMoved(index) &&
        split.collides(static_cast<int32_t>(index), axes))
      return op.emitError()
             << "cannot run with a dimension split over " << mesh.print(axes)
             << ", which split another of its dimensions or partial results, "
                "too; take an operand without these axes";
  }
  return success();
}

LogicalResult SplitCheck::checkTerms() {
  if (split.terms.empty())
    return success();
  bool commutes = llvm::is_contained(
                      possibleHolders(op.getLinearity(), rule.operands.size()),
                      split.heldBy) &&
                  (split.termsKind == Reduction::Sum || splitter.movesData());
  // Sums and maxima over devices do not mix.
  for (auto [factor, axes] : llvm::zip_equal(rule.factors, split.factors))
    commutes &= axes.empty() || factor.kind != FactorKind::Reduction ||
                rule.reduction == split.termsKind;
  if (commutes)
    return success();
  return op.emitError() << "cannot run on partial results over "
                        << prices.getMesh().print(split.terms)
                        << " of these operands: it does not commute with their "
                           "combination; take operands that are not unreduced";
}

LogicalResult SplitCheck::checkTensor(StringRef what, Id has, Id follows) {
  if (has == follows)
    return success();
  return op.emitError() << what << " has the sharding " << print(has)
                        << ", but in those of the others the op needs it as "
                        << print(follows)
                        << "; a dimension is split alike in all operands and "
                           "results";
}

LogicalResult SplitCheck::run() {
  if (choice.operands.size() != rule.operands.size())
    return op.emitError() << kOperandShardingsAttrName
                          << " must have one sharding for each of the op's "
                          << rule.operands.size() << " operands, got "
                          << choice.operands.size();
  for (auto [tensor, id] : llvm::zip_equal(rule.operands, choice.operands))
    readFactors(tensor, id);
  for (auto [tensor, id] : llvm::zip_equal(rule.results, choice.results))
    readFactors(tensor, id);
  readMoves();
  readTerms();
  if (failed(checkFactors()) || failed(checkTerms()))
    return failure();
  for (auto [index, id] : llvm::enumerate(choice.operands))
    if (failed(checkTensor("operand " + std::to_string(index), id,
                           splitter.operandNeed(index, split))))
      return failure();
  for (auto [index, id] : llvm::enumerate(choice.results))
    if (failed(checkTensor("result " + std::to_string(index), id,
                           splitter.resultLeft(index, split))))
      return failure();
  return success();
}

/// An op that takes its first operand as it is, and leaves it so.
static LogicalResult checkPassing(Operation *op, const FactorSolution &choice) {
  if (choice.operands.size() == 1 && choice.operands == choice.results)
    return success();
  return op->emitError() << "computes nothing: " << kOperandShardingsAttrName
                         << " must have one sharding, that of the result";
}

static LogicalResult checkConstant(Operation *op, const FactorSolution &choice,
                                   ReshardPrices &prices) {
  auto constant = cast<arith::ConstantOp>(op);
  const Sharding &made = prices.get(choice.results.front());
  if (isa<SplatElementsAttr>(constant.getValue()) ||
      made == Sharding::closed(made.dims.size()))
    return success();
  return op->emitError() << "constant of different elements has the sharding "
                         << sharding::print(prices.getMesh(), made)
                         << ", but is made whole; its users take shards of it";
}

static LogicalResult check(Operation *op, const FactorSolution &choice,
                           ReshardPrices &prices) {
  if (isa<arith::ConstantOp>(op))
    return checkConstant(op, choice, prices);
  if (isa<BarrierOp, MicrobatchUseOp>(op))
    return checkPassing(op, choice);
  if (isa<MicrobatchSumOp>(op) && choice.operands.size() == 1 &&
      choice.operands == choice.results &&
      passesOn(op, prices.get(choice.operands.front())))
    return success();
  return SplitCheck(cast<ShardingRuleOpInterface>(op), choice, prices).run();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static FactorSolution readChoice(Operation *op, ReshardPrices &prices) {
  FactorSolution choice;
  for (auto [value, sharding] :
       llvm::zip(op->getOperands(),
                 getOperandShardings(op).getAsRange<ShardingAttr>())) {
    choice.operands.push_back(prices.intern(sharding, typeOf(value).getRank()));
    choice.onTerms |= !prices.get(choice.operands.back()).unreduced.empty();
  }
  for (Value value : op->getResults())
    choice.results.push_back(
        prices.intern(getSharding(value), typeOf(value).getRank()));
  return choice;
}

FailureOr<OpChoices> weft::takeChoices(func::FuncOp function,
                                       ReshardPrices &prices) {
  auto ops = function.getBody().front().without_terminator();
  if (llvm::none_of(ops,
                    [](Operation &op) { return getOperandShardings(&op); }))
    return OpChoices();
  OpChoices choices;
  bool legal = true;
  for (Operation &op : ops) {
    if (isMarker(&op)) {
      removeOperandShardings(&op);
      continue;
    }
    if (!getOperandShardings(&op)) {
      op.emitError() << "has no " << kOperandShardingsAttrName
                     << ", but other ops of @" << function.getSymName()
                     << " do; remove it from all of them, or run "
                        "weft-optimize-shardings";
      return failure();
    }
    FactorSolution &choice = choices[&op] = readChoice(&op, prices);
    legal &= succeeded(check(&op, choice, prices));
    removeOperandShardings(&op);
  }
  if (!legal)
    return failure();
  return choices;
}
