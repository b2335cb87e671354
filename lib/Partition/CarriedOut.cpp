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
    ProgramCalls::Version made;
    double bytes = 0;
    size_t first = 0, last = 0;
  };
  using Versions = SmallVector<Version, 2>;

  void define(Value value, Id id, const ProgramCalls::Version &made,
              double bytes);
  Version &provideOne(Value value, Id need);
  ProgramCalls::Version provide(Value value, Id need);
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

void ShardingNetwork::Walk::define(Value value, Id id,
                                   const ProgramCalls::Version &made,
                                   double bytes) {
  held.define(value, id);
  versions.push_back({{made, bytes, position, position}});
  moves.calls.define(value, made);
}

ShardingNetwork::Walk::Version &ShardingNetwork::Walk::provideOne(Value value,
                                                                  Id need) {
  const HeldVersions::Provision provision = held.provide(value, need);
  Versions &own = versions[held.groupOf(value)];
  if (provision.wasThere)
    return own[provision.version];
  Value moved = provision.narrow ? provision.narrow : value;
  Versions &sources = versions[held.groupOf(moved)];
  Version &source = sources[provision.source];
  source.last = position;
  const Id from = held.versionsOf(moved)[provision.source];
  const RankedTensorType type =
      prices.reduces(from, need) ? prices.typeToSum(moved) : typeOf(moved);
  const double runs = network.runsOf(value.getDefiningOp());
  const double weight = network.weightOf(value, from, need);
  const double masking = network.maskSeconds(from, need, value);
  moves.countedSeconds += provision.seconds * weight + masking;
  moves.seconds += provision.seconds * runs;
  moves.wireBytes += static_cast<double>(provision.wireBytes) * runs;
  // What overlaps with the step is combined as its ops are timed. Here it must
  // gain nothing by being called late.
  const bool isShared = !network.overlaps(value, from, need);
  moves.combinedSeconds +=
      masking + weight * (isShared
                              ? prices.secondsWithoutLatency(from, need, type)
                              : provision.seconds);
  const ProgramCalls::Version made =
      moves.calls.addCalls(rootOf(value), prices.calls(from, need, type),
                           source.made, isShared ? weight : 0, runs);
  auto add = [&](Versions &versions, Value value) {
    versions.push_back(
        {made, network.bytesOnDevice(value, need), position, position});
  };
  if (provision.narrow && !provision.narrowWasThere)
    add(sources, moved);
  add(own, value);
  return own.back();
}

ProgramCalls::Version ShardingNetwork::Walk::provide(Value value, Id need) {
  for (Id first : held.firstFor(value, need))
    provideOne(value, first);
  Version &version = provideOne(value, need);
  version.last = position;
  return version.made;
}

/// Exchanges are moves as well, but count as a part of their ops.
void ShardingNetwork::Walk::walk(Operation &op) {
  if (isMarker(&op)) {
    held.share(op.getResult(0), op.getOperand(0));
    return;
  }
  ++position;
  const FactorSolution &choice = choices.at(&op);
  SmallVector<ProgramCalls::Version> operands;
  for (auto [value, need] : llvm::zip(op.getOperands(), choice.operands))
    operands.push_back(provide(value, need));
  const OpStrategy *strategy = network.strategyOf(&op, choice);
  if (strategy) {
    double seconds = strategy->exchangeSeconds * network.runsOf(&op);
    moves.seconds += seconds;
    moves.exchangeSeconds += seconds;
    moves.wireBytes += strategy->exchangeBytes * network.runsOf(&op);
  }
  const ProgramCalls::Version step = moves.calls.addOp(
      &op, operands,
      network.mobilityOf(&op, choice, strategy && strategy->exchangeBytes > 0));
  // Constants are made where they are used.
  const bool isConstant = op.hasTrait<OpTrait::ConstantLike>();
  for (auto [value, made] : llvm::zip_equal(op.getResults(), choice.results))
    define(value, made, step,
           isConstant ? 0 : network.bytesOnDevice(value, made));
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
           prices.intern(getSharding(argument), typeOf(argument).getRank()), {},
           /*bytes=*/0);
    held.plan(argument, needs);
  }
  for (Operation &op : block.without_terminator())
    walk(op);
  ++position;
  SmallVector<ProgramCalls::Version> results;
  for (OpOperand &use : block.getTerminator()->getOpOperands())
    results.push_back(provide(
        use.get(),
        prices.intern(getResultSharding(function, use.getOperandNumber()),
                      typeOf(use.get()).getRank())));
  moves.calls.addOp(block.getTerminator(), results, {});
  moves.calls.finish();
  const ProgramCalls::Latency latency = moves.calls.countedLatency();
  moves.combinedSeconds += latency.ofAll;
  moves.sumLatencySeconds = latency.ofSums;
  moves.bytesAlive = mostBytesAlive();
  return std::move(moves);
}

ShardingNetwork::Moves
ShardingNetwork::movesOf(const OpChoices &choices) const {
  return Walk(*this, choices).run();
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
