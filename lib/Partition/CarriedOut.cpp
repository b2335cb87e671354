//===- CarriedOut.cpp - What choices cost as they are carried out ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardingNetwork.h"

#include "HeldVersions.h"

#include "weft/IR/ValueSharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weft;
using optimize::Cost;

using Id = ReshardPrices::Id;

const OpStrategy *
ShardingNetwork::strategyOf(Operation *op, const FactorSolution &choice) const {
  auto found = options.find(op);
  if (found == options.end())
    return nullptr;
  size_t index = found->second.find(choice);
  return index < found->second.strategies.size()
             ? &found->second.strategies[index]
             : nullptr;
}

/// As --weft-combine-collectives moves ops.
ProgramCalls::Mobility ShardingNetwork::mobilityOf(Operation *op,
                                                   const FactorSolution &choice,
                                                   bool exchanges) const {
  if (op->hasTrait<OpTrait::ConstantLike>())
    return {true, true};
  if (runsOf(op) != 1 || isa<BarrierOp>(op) || op->getNumResults() != 1 ||
      exchanges)
    return {};
  llvm::SmallDenseSet<Value> operands;
  double most = 0;
  for (auto [value, id] : llvm::zip(op->getOperands(), choice.operands))
    if (!matchPattern(value, m_Constant()) && operands.insert(value).second)
      most = std::max(most, bytesOnDevice(value, id));
  Value held = isa<arith::ExtFOp>(op) ? op->getOperand(0) : op->getResult(0);
  const double result = bytesOnDevice(held, choice.results.front());
  const bool isSmall = result <= prices.smallBytes();
  return {isSmall, operands.size() == 1
                       ? result <= most
                       : isSmall && most <= prices.smallBytes()};
}

/// Exchanges are moves as well, but count as a part of their ops.
ShardingNetwork::Moves
ShardingNetwork::movesOf(const OpChoices &choices) const {
  HeldVersions held(prices);
  // By group and number.
  std::vector<SmallVector<ProgramCalls::Version, 2>> versionsOf;
  func::FuncOp program = function;
  Needs needs = findNeeds(program, choices, prices);
  Moves moves;
  auto define = [&](Value value, Id made, ProgramCalls::Version version) {
    held.define(value, made);
    versionsOf.push_back({version});
    moves.calls.define(value, version);
  };
  auto provideOne = [&](Value value, Id need) {
    HeldVersions::Provision provision = held.provide(value, need);
    auto &versions = versionsOf[held.groupOf(value)];
    if (provision.wasThere)
      return versions[provision.version];
    Value moved = provision.narrow ? provision.narrow : value;
    Id from = held.versionsOf(moved)[provision.source];
    double runs = runsOf(value.getDefiningOp());
    double weight = weightOf(value, from, need);
    moves.countedSeconds += provision.seconds * weight;
    moves.seconds += provision.seconds * runs;
    moves.wireBytes += static_cast<double>(provision.wireBytes) * runs;
    auto &sources = versionsOf[held.groupOf(moved)];
    moves.combinedSeconds +=
        prices.secondsWithoutLatency(from, need, typeOf(moved)) * weight;
    ProgramCalls::Version made = moves.calls.addCalls(
        rootOf(value), prices.calls(from, need, typeOf(moved)),
        sources[provision.source], weight, runs > 1);
    if (provision.narrow && !provision.narrowWasThere)
      sources.push_back(made);
    versions.push_back(made);
    return made;
  };
  auto provide = [&](Value value, Id need) {
    for (Id first : held.firstFor(value, need))
      provideOne(value, first);
    return provideOne(value, need);
  };
  Block &block = program.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    define(argument,
           prices.intern(getSharding(argument), typeOf(argument).getRank()),
           {});
    held.plan(argument, needs);
  }
  for (Operation &op : block.without_terminator()) {
    if (isMarker(&op)) {
      held.share(op.getResult(0), op.getOperand(0));
      continue;
    }
    const FactorSolution &choice = choices.at(&op);
    SmallVector<ProgramCalls::Version> operands;
    for (auto [value, need] : llvm::zip(op.getOperands(), choice.operands))
      operands.push_back(provide(value, need));
    const OpStrategy *strategy = strategyOf(&op, choice);
    const bool exchanges = strategy && strategy->exchangeBytes > 0;
    if (strategy) {
      moves.seconds += strategy->exchangeSeconds * runsOf(&op);
      moves.wireBytes += strategy->exchangeBytes * runsOf(&op);
    }
    const ProgramCalls::Version made =
        moves.calls.addOp(&op, operands, mobilityOf(&op, choice, exchanges));
    for (auto [value, id] : llvm::zip_equal(op.getResults(), choice.results))
      define(value, id, made);
    if (takesMoreBytes(&op))
      held.widen(op.getResult(0), op.getOperand(0));
    for (Value value : op.getResults())
      held.plan(value, needs);
  }
  SmallVector<ProgramCalls::Version> results;
  for (OpOperand &use : block.getTerminator()->getOpOperands())
    results.push_back(provide(
        use.get(),
        prices.intern(getResultSharding(program, use.getOperandNumber()),
                      typeOf(use.get()).getRank())));
  moves.calls.addOp(block.getTerminator(), results, {});
  moves.calls.finish();
  moves.sumLatencySeconds = moves.calls.sumLatencySeconds();
  moves.combinedSeconds += moves.calls.latencySeconds();
  return moves;
}

Cost ShardingNetwork::costCarriedOut(const OpChoices &choices,
                                     double moveSeconds) const {
  Cost cost = toCost(moveSeconds);
  for (auto &[op, found] : options)
    if (found.work >= 0)
      cost = std::min(
          cost + network.getTables()[found.work][found.find(choices.at(op))],
          optimize::forbidden);
  return cost;
}
