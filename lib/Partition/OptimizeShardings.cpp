//===- OptimizeShardings.cpp - Choose shardings over the whole graph ------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardingNetwork.h"

#include "weft/IR/ValueSharding.h"
#include "weft/Partition/ChoiceReport.h"
#include "weft/Partition/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "weft-optimize-shardings"

namespace weft {
#define GEN_PASS_DEF_OPTIMIZESHARDINGS
#include "weft/Partition/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;
using sharding::Mesh;

using Id = ReshardPrices::Id;

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
    ReshardPrices prices(FlatSymbolRefAttr::get(meshOp.getSymNameAttr()),
                         meshOp.getMesh().toMesh(), cost::CollectiveCost());
    StrategyTables strategies(prices);
    FollowPropagation follow(prices);
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        optimize(function, strategies, follow);
    planned += prices.numPlanned();
  }

  void optimize(func::FuncOp function, StrategyTables &strategies,
                FollowPropagation &follow) {
    ReshardPrices &prices = strategies.getPrices();
    Block &block = function.getBody().front();
    OpChoices start = follow.run(function);
    ShardingNetwork network(function, start, strategies);
    OpChoices found = network.solve();
    chooseConstants(block, prices, start, found);
    ShardingNetwork::Moves before = network.movesOf(start);
    ShardingNetwork::Moves after = network.movesOf(found);
    LLVM_DEBUG(llvm::dbgs() << network.numVariables() << " variables, optimal "
                            << network.isOptimal() << "\n");
    variables += network.numVariables();
    if (!(after.countedSeconds + network.workSeconds(/*atStart=*/false) <
          before.countedSeconds + network.workSeconds(/*atStart=*/true)))
      return write(block, start, prices);
    write(block, found, prices);
    setChoiceReport(function, {countChanges(start, found), before.wireBytes,
                               after.wireBytes, before.seconds, after.seconds});
  }

  static int64_t countChanges(const OpChoices &start, const OpChoices &found) {
    return llvm::count_if(found, [&](const auto &entry) {
      const FactorSolution &other = start.at(entry.first);
      return entry.second.operands != other.operands ||
             entry.second.results != other.results;
    });
  }

  void write(Block &block, const OpChoices &choices, ReshardPrices &prices) {
    Builder builder(&getContext());
    auto toAttrs = [&](ArrayRef<Id> ids) {
      return builder.getArrayAttr(llvm::map_to_vector(
          ids, [&](Id id) -> Attribute { return prices.getAttr(id); }));
    };
    for (Operation &op : block.without_terminator()) {
      auto found = choices.find(&op);
      if (found == choices.end())
        continue;
      op.setAttr("weft.operand_shardings", toAttrs(found->second.operands));
      op.setAttr(WeftDialect::kShardingsAttrName,
                 toAttrs(found->second.results));
    }
  }
};

} // namespace
