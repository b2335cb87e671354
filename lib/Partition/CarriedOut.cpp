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

/// Goes through a function in program order, and makes the versions of values
/// that ops take.
class ShardingNetwork::Walk {
public:
  Walk(const ShardingNetwork &network, const OpChoices &choices)
      : network(network), choices(choices), prices(network.prices),
        function(network.function), needs(findNeeds(function, choices, prices)),
        held(prices) {}

  Moves run();

private:
  /// A version of a value: what a device has of it, and the ops from which to
  /// which it is alive.
  struct Version {
    double bytes = 0;
    size_t first = 0, last = 0;
  };
  using Versions = SmallVector<Version, 2>;

  void define(Value value, Id id, double bytes);
  void provideOne(Value value, Id need);
  void provide(Value value, Id need);
  void walk(Operation &op);
  double mostBytesAlive() const;

  const ShardingNetwork &network;
  const OpChoices &choices;
  ReshardPrices &prices;
  func::FuncOp function;
  Needs needs;
  HeldVersions held;
  /// By the groups of `held`, and their numbers there.
  std::vector<Versions> versions;
  size_t position = 0;
  Moves moves;
};

void ShardingNetwork::Walk::define(Value value, Id id, double bytes) {
  held.define(value, id);
  versions.push_back({{bytes, position, position}});
}

void ShardingNetwork::Walk::provideOne(Value value, Id need) {
  const HeldVersions::Provision provision = held.provide(value, need);
  Versions &own = versions[held.groupOf(value)];
  if (provision.wasThere) {
    own[provision.version].last = position;
    return;
  }
  Value moved = provision.narrow ? provision.narrow : value;
  Versions &sources = versions[held.groupOf(moved)];
  sources[provision.source].last = position;
  const Id from = held.versionsOf(moved)[provision.source];
  const double runs = network.runsOf(value.getDefiningOp());
  moves.countedSeconds +=
      provision.seconds * network.weightOf(value, from, need);
  moves.seconds += provision.seconds * runs;
  moves.wireBytes += static_cast<double>(provision.wireBytes) * runs;
  if (provision.narrow && !provision.narrowWasThere)
    sources.push_back({network.bytesOnDevice(moved, need), position, position});
  own.push_back({network.bytesOnDevice(value, need), position, position});
}

void ShardingNetwork::Walk::provide(Value value, Id need) {
  for (Id first : held.firstFor(value, need))
    provideOne(value, first);
  provideOne(value, need);
}

/// Exchanges are moves as well, but count as a part of their ops.
void ShardingNetwork::Walk::walk(Operation &op) {
  if (isMarker(&op)) {
    held.share(op.getResult(0), op.getOperand(0));
    return;
  }
  ++position;
  const FactorSolution &choice = choices.at(&op);
  for (auto [value, need] : llvm::zip(op.getOperands(), choice.operands))
    provide(value, need);
  if (const OpStrategy *strategy = network.strategyOf(&op, choice)) {
    moves.seconds += strategy->exchangeSeconds * network.runsOf(&op);
    moves.wireBytes += strategy->exchangeBytes * network.runsOf(&op);
  }
  // Constants are made where they are used.
  const bool isConstant = op.hasTrait<OpTrait::ConstantLike>();
  for (auto [value, made] : llvm::zip_equal(op.getResults(), choice.results))
    define(value, made, isConstant ? 0 : network.bytesOnDevice(value, made));
  if (takesMoreBytes(&op))
    held.widen(op.getResult(0), op.getOperand(0));
  for (Value value : op.getResults())
    held.plan(value, needs);
}

double ShardingNetwork::Walk::mostBytesAlive() const {
  std::vector<double> changes(position + 2);
  for (const Versions &own : versions)
    for (const Version &version : own) {
      changes[version.first] += version.bytes;
      changes[version.last + 1] -= version.bytes;
    }
  double alive = 0, most = 0;
  for (double change : changes)
    most = std::max(most, alive += change);
  return most;
}

ShardingNetwork::Moves ShardingNetwork::Walk::run() {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    define(argument,
           prices.intern(getSharding(argument), typeOf(argument).getRank()),
           /*bytes=*/0);
    held.plan(argument, needs);
  }
  for (Operation &op : block.without_terminator())
    walk(op);
  ++position;
  for (OpOperand &use : block.getTerminator()->getOpOperands())
    provide(use.get(),
            prices.intern(getResultSharding(function, use.getOperandNumber()),
                          typeOf(use.get()).getRank()));
  moves.bytesAlive = mostBytesAlive();
  return moves;
}

ShardingNetwork::Moves
ShardingNetwork::movesOf(const OpChoices &choices) const {
  return Walk(*this, choices).run();
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
