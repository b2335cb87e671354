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
  /// By group and version.
  std::vector<SmallVector<int32_t, 2>> depths;
  struct Sum {
    std::pair<int32_t, int32_t> kindAndDepth;
    double latency, weight, runs;
  };
  std::vector<Sum> sums;
  auto define = [&](Value value, Id made, int32_t depth) {
    held.define(value, made);
    depths.push_back({depth});
    moves.sums.depths[value] = depth;
  };
  auto provideOne = [&](Value value, Id need, Operation *user) {
    HeldVersions::Provision provision = held.provide(value, need);
    SmallVector<int32_t, 2> &own = depths[held.groupOf(value)];
    if (provision.wasThere)
      return own[provision.version];
    Value moved = provision.narrow ? provision.narrow : value;
    SmallVector<int32_t, 2> &sources = depths[held.groupOf(moved)];
    Id from = held.versionsOf(moved)[provision.source];
    int32_t depth = sources[provision.source];
    double runs = runsOf(value.getDefiningOp());
    double weight = weightOf(value, from, need);
    double seconds = provision.seconds;
    if (int32_t kind = prices.sumsOf(from, need, typeOf(moved)); kind >= 0) {
      sums.push_back({{kind, depth},
                      prices.latency(from, need, typeOf(moved)),
                      weight,
                      runs});
      ++moves.sums.counts[{kind, depth}];
      seconds -= sums.back().latency;
    } else {
      seconds = prices.secondsAmong(countMovedAlike(value, user), from, need,
                                    typeOf(moved));
    }
    moves.countedSeconds += seconds * weight;
    moves.seconds += seconds * runs;
    moves.wireBytes += static_cast<double>(provision.wireBytes) * runs;
    depth += provision.wireBytes > 0;
    if (provision.narrow && !provision.narrowWasThere)
      sources.push_back(depth);
    own.push_back(depth);
    return depth;
  };
  auto provide = [&](Value value, Id need, Operation *user) {
    for (Id first : held.firstFor(value, need))
      provideOne(value, first, user);
    return provideOne(value, need, user);
  };
  Block &block = program.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    define(argument,
           prices.intern(getSharding(argument), typeOf(argument).getRank()), 0);
    held.plan(argument, needs);
  }
  for (Operation &op : block.without_terminator()) {
    if (isMarker(&op)) {
      held.share(op.getResult(0), op.getOperand(0));
      continue;
    }
    const FactorSolution &choice = choices.at(&op);
    int32_t depth = 0;
    for (auto [value, need] : llvm::zip(op.getOperands(), choice.operands))
      depth = std::max(depth, provide(value, need, &op));
    if (const OpStrategy *strategy = strategyOf(&op, choice)) {
      moves.seconds += strategy->exchangeSeconds * runsOf(&op);
      moves.wireBytes += strategy->exchangeBytes * runsOf(&op);
      depth += strategy->exchangeBytes > 0;
    }
    for (auto [value, made] : llvm::zip_equal(op.getResults(), choice.results))
      define(value, made, depth);
    if (takesMoreBytes(&op))
      held.widen(op.getResult(0), op.getOperand(0));
    for (Value value : op.getResults())
      held.plan(value, needs);
  }
  for (OpOperand &use : block.getTerminator()->getOpOperands())
    provide(use.get(),
            prices.intern(getResultSharding(program, use.getOperandNumber()),
                          typeOf(use.get()).getRank()),
            block.getTerminator());
  for (const Sum &sum : sums) {
    double latency = sum.latency / static_cast<double>(
                                       moves.sums.counts.at(sum.kindAndDepth));
    moves.countedSeconds += latency * sum.weight;
    moves.seconds += latency * sum.runs;
    moves.sumLatency += latency * sum.weight;
  }
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
