//===- FollowPropagation.cpp - Ops that obey propagation ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeldVersions.h"
#include "OpChoices.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/CastInterfaces.h"

using namespace mlir;
using namespace weft;

using Id = ReshardPrices::Id;

/// Sums of what a micro-batch gives can be taken of its partial sums; those of
/// a maximum are not to be added.
bool weft::passesOn(Operation *op, const sharding::Sharding &operand) {
  return isa<BarrierOp, MicrobatchUseOp>(op) ||
         (isa<MicrobatchSumOp>(op) &&
          (operand.unreduced.empty() ||
           operand.unreducedKind == sharding::Reduction::Sum));
}

bool weft::isAddedUp(Value value) {
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (isa<MicrobatchSumOp>(user))
      return true;
    if (isMarker(user)) {
      value = user->getResult(0);
      continue;
    }
    auto op = dyn_cast<ShardingRuleOpInterface>(user);
    if (!op || op.getLinearity() == sharding::Linearity::NotLinear ||
        op->getNumResults() != 1)
      return false;
    value = op->getResult(0);
  }
  return false;
}

sharding::Linearity weft::usefulLinearity(ShardingRuleOpInterface op) {
  if (isa<arith::DivFOp>(op) && !isAddedUp(op->getResult(0)))
    return sharding::Linearity::NotLinear;
  return op.getLinearity();
}

bool weft::takesMoreBytes(Operation *op) {
  return isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp,
             arith::UIToFPOp>(op) &&
         elementBytes(typeOf(op->getOperand(0))) <
             elementBytes(typeOf(op->getResult(0)));
}

/// Uses that need the value: those of constraints are counted through, and
/// barriers that wait for it left out.
static int64_t countUses(Value value) {
  int64_t uses = 0;
  for (OpOperand &use : value.getUses())
    if (isMarker(use.getOwner()))
      uses += countUses(use.getOwner()->getResult(0));
    else
      uses += !(isa<BarrierOp>(use.getOwner()) && use.getOperandNumber() != 0);
  return uses;
}

/// Slices that use the value, if the op is one.
static int64_t countSlices(Operation *op, Value value) {
  if (!isa<SliceOp>(op))
    return 1;
  return llvm::count_if(value.getUsers(),
                        [](Operation *user) { return isa<SliceOp>(user); });
}

namespace {

class Follower {
public:
  Follower(ReshardPrices &prices,
           std::map<std::vector<int64_t>, FactorSolution> &solutions)
      : prices(prices), solutions(solutions), held(prices) {}

  OpChoices run(func::FuncOp function);

private:
  Id declaredOf(Value value) {
    return prices.intern(getSharding(value), typeOf(value).getRank());
  }
  void define(Value value, Id made);
  FactorProblem problemOf(ShardingRuleOpInterface op);
  FactorSolution choose(Operation *op);
  void visit(Operation *op);

  ReshardPrices &prices;
  std::map<std::vector<int64_t>, FactorSolution> &solutions;
  HeldVersions held;
  /// Uses of the values of a group.
  std::vector<int64_t> numUses;
  OpChoices choices;
};

} // namespace

void Follower::define(Value value, Id made) {
  held.define(value, made);
  numUses.push_back(countUses(value));
}

FactorProblem Follower::problemOf(ShardingRuleOpInterface op) {
  FactorProblem problem;
  problem.rule = op.getShardingRule();
  problem.linearity = usefulLinearity(op);
  problem.moves = findMoves(op);
  llvm::erase_if(problem.moves,
                 [](const ElementMove &move) { return !move.windows; });
  problem.isSummed = op->getNumResults() == 1 && isAddedUp(op->getResult(0));
  for (Value value : op->getOperands()) {
    FactorProblem::Operand &operand = problem.operands.emplace_back();
    operand.type = typeOf(value);
    operand.moved = held.typeToMove(value);
    operand.declared = declaredOf(value);
    operand.isOnlyUse = numUses[held.groupOf(value)] == 1;
    operand.sharers = countSlices(op, value);
    llvm::append_range(operand.versions, held.versionsOf(value));
  }
  for (Value value : op->getResults())
    problem.results.push_back({typeOf(value), declaredOf(value)});
  return problem;
}

bool weft::movesBefore(Operation *op) {
  if (!isa<MicrobatchUseOp, BarrierOp>(op))
    return false;
  Operation *made = op->getOperand(0).getDefiningOp();
  if (made && isa<CastOpInterface>(made) && made->getNumOperands() == 1)
    made = made->getOperand(0).getDefiningOp();
  return made && isMarker(made) &&
         (isa<MicrobatchUseOp>(op) || isa<BlockArgument>(made->getOperand(0)));
}

FactorSolution Follower::choose(Operation *op) {
  if (movesBefore(op)) {
    const Id asked = declaredOf(op->getOperand(0));
    return {{asked}, {asked}, false};
  }
  if (op->getNumOperands() != 0) {
    Value first = op->getOperand(0);
    Id kept = held.versionsOf(first)[held.versionToKeep(first)];
    // So a parameter is moved once for each micro-batch, and partial sums are
    // reduced after the last one.
    if (passesOn(op, prices.get(kept)))
      return {{kept}, {kept}, false};
  }
  FactorProblem problem = problemOf(cast<ShardingRuleOpInterface>(op));
  auto [entry, isNew] = solutions.try_emplace(problem.key());
  if (isNew)
    entry->second = chooseFactors(problem, prices);
  return entry->second;
}

/// A constant of different elements is there whole; its users take slices.
static bool isWhole(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  return constant && !isa<SplatElementsAttr>(constant.getValue());
}

void Follower::visit(Operation *op) {
  if (isMarker(op))
    return held.share(op->getResult(0), op->getOperand(0));
  if (isa<arith::ConstantOp>(op)) {
    Value value = op->getResult(0);
    Id made =
        isWhole(op)
            ? prices.intern(sharding::Sharding::closed(typeOf(value).getRank()))
            : declaredOf(value);
    choices[op].results = {made};
    return define(value, made);
  }
  FactorSolution &choice = choices[op] = choose(op);
  for (auto [value, need] : llvm::zip(op->getOperands(), choice.operands))
    held.provide(value, need);
  for (auto [value, made] : llvm::zip_equal(op->getResults(), choice.results))
    define(value, made);
  if (takesMoreBytes(op))
    held.widen(op->getResult(0), op->getOperand(0));
}

OpChoices Follower::run(func::FuncOp function) {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments())
    define(argument, declaredOf(argument));
  for (Operation &op : block.without_terminator())
    visit(&op);
  return std::move(choices);
}

OpChoices FollowPropagation::run(func::FuncOp function) {
  return Follower(prices, solutions).run(function);
}
