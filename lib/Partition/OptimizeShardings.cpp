//===- OptimizeShardings.cpp - Choose shardings over the whole graph ------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChosenSplits.h"
#include "DumpNetwork.h"
#include "ShardingNetwork.h"

#include "weft/IR/ClusterCost.h"
#include "weft/IR/StageMesh.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Partition/ChoiceReport.h"
#include "weft/Partition/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace weft {
#define GEN_PASS_DEF_OPTIMIZESHARDINGS
#include "weft/Partition/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;
using sharding::Mesh;

using Id = ReshardPrices::Id;

/// Of the time of all moves, that of latencies of all-reduces above which it is
/// worth while to choose again, knowing which become one call.
static constexpr double leastShareOfSums = 0.05;
/// Calls are counted before they are made: what gains a smaller share of the
/// cost may gain nothing.
static constexpr double leastGain = 0.005;
/// The largest network that is solved again: which sums join a call takes time
/// that grows with the square of the program.
static constexpr size_t mostVariablesSolvedAgain = 1 << 11;

/// A uniform constant is made as its users take it; as a whole, of which parts
/// are free, where they do not agree.
static void chooseConstants(Block &block, ReshardPrices &prices,
                            const OpChoices &start, OpChoices &choices) {
  for (auto constant : block.getOps<arith::ConstantOp>()) {
    FactorSolution &choice = choices[constant] = start.at(constant);
    if (!isa<SplatElementsAttr>(constant.getValue()))
      continue;
    SetVector<Id> needs;
    for (OpOperand &use : constant->getUses()) {
      auto user = choices.find(use.getOwner());
      if (user != choices.end() &&
          use.getOperandNumber() < user->second.operands.size())
        needs.insert(user->second.operands[use.getOperandNumber()]);
    }
    if (needs.size() == 1 && prices.get(needs.front()).unreduced.empty())
      choice.results = {needs.front()};
    else if (!needs.empty())
      choice.results = {prices.intern(
          sharding::Sharding::closed(typeOf(constant.getResult()).getRank()))};
  }
}

namespace {

struct OptimizeShardings
    : weft::impl::OptimizeShardingsBase<OptimizeShardings> {
  using OptimizeShardingsBase::OptimizeShardingsBase;

  void runOnInput() override {
    ModuleOp module = getOperation();
    MeshOp meshOp = findMesh(module);
    if (!meshOp)
      return;
    FailureOr<cost::CostModel> model = loadCostModel(module, cluster);
    if (failed(model))
      return signalPassFailure();
    ReshardPrices prices(FlatSymbolRefAttr::get(meshOp.getSymNameAttr()),
                         meshOfStage(meshOp, model->cluster()), *model,
                         combinedShare, sumsInFloat32,
                         sharding::PlanEffort::Estimate);
    StrategyTables strategies(prices);
    FollowPropagation follow(prices);
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        optimize(function, strategies, follow);
    planned += prices.numPlanned();
    if (!dumpNetwork.empty() &&
        failed(writeDump(module, std::move(dumped), dumpNetwork)))
      signalPassFailure();
  }

  void optimize(func::FuncOp function, StrategyTables &strategies,
                FollowPropagation &follow) {
    ReshardPrices &prices = strategies.getPrices();
    Block &block = function.getBody().front();
    OpChoices start = follow.run(function);
    FunctionStrategies ofFunction(function, strategies);
    ShardingNetwork network(function, start, ofFunction);
    optimize::CostNetwork::Options limits;
    limits.maxTable = maxTable;
    OpChoices found = network.solve(limits);
    chooseConstants(block, prices, start, found);
    const ShardingNetwork::Moves &usual = network.getStartMoves();
    ShardingNetwork::Moves chosen = network.movesOf(found);
    optimize::Cost before = network.costCarriedOut(start, usual.countedSeconds);
    optimize::Cost after = network.costCarriedOut(found, chosen.countedSeconds);
    variables += network.getNetwork().numVariables();
    if (!dumpNetwork.empty())
      dumped.push_back(dump(function.getSymName(), network, before, after));
    bool isBetter = after < before;
    if (!isBetter) {
      found = start;
      chosen = usual;
    }
    if (combined)
      isBetter |=
          takeFewerCalls(function, ofFunction, start, network, found, chosen);
    writeChoices(function, found, prices);
    if (isBetter)
      setChoiceReport(function,
                      {countChanges(start, found), usual.wireBytes,
                       chosen.wireBytes, usual.seconds, chosen.seconds,
                       usual.bytesAlive, chosen.bytesAlive});
  }

  static bool isWorthIt(double cost, double before) {
    return cost < (1 - leastGain) * before;
  }

  /// Takes what is better with the calls that are left where some become one:
  /// of what the network found on the way, and where latencies of all-reduces
  /// count, of what is chosen again as if all were one call, and then knowing
  /// the calls of the best so far. Whether it is another than `found`.
  bool takeFewerCalls(func::FuncOp function, FunctionStrategies &strategies,
                      const OpChoices &start, const ShardingNetwork &network,
                      OpChoices &found, ShardingNetwork::Moves &moves) {
    using SumLatency = ShardingNetwork::SumLatency;
    if (network.getNetwork().numVariables() > mostVariablesSolvedAgain)
      return false;
    optimize::CostNetwork::Options limits;
    limits.maxTable = maxTable;
    bool isBetter = false;
    auto tryAll = [&](std::vector<OpChoices> others) {
      for (OpChoices &other : others) {
        chooseConstants(function.getBody().front(), strategies.getPrices(),
                        start, other);
        ShardingNetwork::Moves otherMoves = network.movesOf(other);
        const optimize::Cost cost = network.costCarriedOut(
                                 other, otherMoves.combinedSeconds),
                             before = network.costCarriedOut(
                                 found, moves.combinedSeconds);
        // Bytes that are saved are, at however small a part of the step.
        const bool sendsLess =
            cost < before &&
            isWorthIt(double(otherMoves.wireBytes), double(moves.wireBytes));
        if (!isWorthIt(double(cost), double(before)) && !sendsLess)
          continue;
        found = std::move(other);
        moves = std::move(otherMoves);
        isBetter = true;
      }
    };
    tryAll(network.getAlternatives());
    for (SumLatency sumLatency : {SumLatency::None, SumLatency::OfNewCalls}) {
      if (moves.sumLatencySeconds <= leastShareOfSums * moves.combinedSeconds)
        break;
      ShardingNetwork again(function, start, strategies, sumLatency,
                            &moves.calls);
      tryAll({again.solve(limits)});
      tryAll(again.getAlternatives());
    }
    return isBetter;
  }

  static int64_t countChanges(const OpChoices &start, const OpChoices &found) {
    return llvm::count_if(found, [&](const auto &entry) {
      const FactorSolution &other = start.at(entry.first);
      return entry.second.operands != other.operands ||
             entry.second.results != other.results;
    });
  }

  llvm::json::Array dumped;
};

} // namespace
