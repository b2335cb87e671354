//===- CarriedOut.cpp - What choices cost as they are carried out ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardingNetwork.h"

#include "HeldVersions.h"

#include "weft/IR/ValueSharding.h"

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

/// Exchanges are moves as well, but count as a part of their ops.
ShardingNetwork::Moves
ShardingNetwork::movesOf(const OpChoices &choices) const {
  HeldVersions held(prices);
  func::FuncOp program = function;
  Needs needs = findNeeds(program, choices, prices);
  Moves moves;
  auto provideOne = [&](Value value, Id need) {
    HeldVersions::Provision provision = held.provide(value, need);
    if (provision.wasThere)
      return;
    Id from = held.versionsOf(provision.narrow ? provision.narrow
                                               : value)[provision.source];
    double runs = runsOf(value.getDefiningOp());
    moves.countedSeconds += provision.seconds * weightOf(value, from, need);
    moves.seconds += provision.seconds * runs;
    moves.wireBytes += static_cast<double>(provision.wireBytes) * runs;
  };
  auto provide = [&](Value value, Id need) {
    for (Id first : held.firstFor(value, need))
      provideOne(value, first);
    provideOne(value, need);
  };
  Block &block = program.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    held.define(argument, prices.intern(getSharding(argument),
                                        typeOf(argument).getRank()));
    held.plan(argument, needs);
  }
  for (Operation &op : block.without_terminator()) {
    if (isMarker(&op)) {
      held.share(op.getResult(0), op.getOperand(0));
      continue;
    }
    const FactorSolution &choice = choices.at(&op);
    for (auto [value, need] : llvm::zip(op.getOperands(), choice.operands))
      provide(value, need);
    if (const OpStrategy *strategy = strategyOf(&op, choice)) {
      moves.seconds += strategy->exchangeSeconds * runsOf(&op);
      moves.wireBytes += strategy->exchangeBytes * runsOf(&op);
    }
    for (auto [value, made] : llvm::zip_equal(op.getResults(), choice.results))
      held.define(value, made);
    if (takesMoreBytes(&op))
      held.widen(op.getResult(0), op.getOperand(0));
    for (Value value : op.getResults())
      held.plan(value, needs);
  }
  for (OpOperand &use : block.getTerminator()->getOpOperands())
    provide(use.get(),
            prices.intern(getResultSharding(program, use.getOperandNumber()),
                          typeOf(use.get()).getRank()));
  return moves;
}

Cost ShardingNetwork::costCarriedOut(const OpChoices &choices,
                                     const Moves &moves) const {
  Cost cost = toCost(moves.countedSeconds);
  for (auto &[op, found] : options)
    if (found.work >= 0)
      cost = std::min(
          cost + network.getTables()[found.work][found.find(choices.at(op))],
          optimize::forbidden);
  return cost;
}
