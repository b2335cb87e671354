//===- ShardingNetwork.cpp - The choices of a function as costs -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardingNetwork.h"

#include "HeldVersions.h"

#include "weft/IR/ValueSharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using optimize::Cost;

using Id = ReshardPrices::Id;

/// What is computed beyond what propagation computes, if it were all of that,
/// costs as much as this many steps: nobody who splits a batch wants it
/// computed as a whole everywhere because links are slow. Matmuls and other ops
/// count by themselves: their times have another ratio on every device.
static constexpr double stepsPerWork = 10;
/// What a byte costs that is held beyond what propagation would hold, over what
/// it takes to move it.
static constexpr double shareOfHeldByte = 0.1;
/// The kernel that uses terms made of a whole value makes them. That a sum is
/// no longer where its matmul can hide it in pieces decides where nothing else
/// does.
static constexpr double passesOfMask = 0.2;
/// What is added up over micro-batches is held during all of them. Where the
/// start would fill more than this share of a device, memory is short, and all
/// of it costs as much as a step.
static constexpr double shareOfShortMemory = 0.9;

/// Whether the op is a matmul or the like, or looks something up.
bool ShardingNetwork::contracts(Operation *op) const {
  const sharding::ShardingRule *rule = reach.findRule(op);
  if (!rule || isMarker(op))
    return false;
  return rule->category == sharding::OpCategory::Lookup ||
         (op->getNumOperands() > 1 &&
          llvm::any_of(rule->factors, [](const sharding::Factor &factor) {
            return factor.kind == sharding::FactorKind::Reduction;
          }));
}

Cost weft::toCost(double seconds) {
  double picoseconds = seconds * 1e12;
  return picoseconds < static_cast<double>(optimize::forbidden)
             ? std::llround(picoseconds)
             : optimize::forbidden;
}

/// Whether the op takes its first operand as it is, and leaves it so.
static bool passes(Operation *op, const FactorSolution &choice) {
  return choice.operands.size() == 1 && choice.results.size() == 1 &&
         choice.operands.front() == choice.results.front() &&
         isa<BarrierOp, MicrobatchUseOp, MicrobatchSumOp>(op);
}

ShardingNetwork::ShardingNetwork(func::FuncOp function, const OpChoices &start,
                                 FunctionStrategies &functionStrategies,
                                 SumLatency sumLatency,
                                 const ProgramCalls *calls)
    : function(function), sumLatency(sumLatency), calls(calls),
      functionStrategies(functionStrategies),
      prices(functionStrategies.getPrices()),
      reach(functionStrategies.getReach()),
      microbatches(function.getBody().front()),
      stored(function.getBody().front()) {
  Block &block = function.getBody().front();
  findEarlyAndLate(block, start);
  findUpdates(block);
  usualNeeds = findNeeds(function, start, prices);
  for (auto use : block.getOps<MicrobatchUseOp>())
    mostHeld[use] = mostHeldBytes(use, start.at(use));
  for (auto lookup : block.getOps<GatherOp>())
    usualNeeds.erase(rootOf(lookup.getOperand()));
  for (Operation &op : block.without_terminator())
    needInShards(usualNeeds, &op, late, prices);
  SmallVector<Operation *> passing;
  for (Operation &op : block.without_terminator()) {
    if (isa<arith::ConstantOp>(op))
      continue;
    const FactorSolution choice =
        isMarker(&op) ? asConstrained(&op) : start.at(&op);
    if (isMarker(&op) || passes(&op, choice)) {
      options[&op];
      passing.push_back(&op);
    } else {
      addOp(&op, choice);
    }
  }
  startMoves = movesOf(start);
  startSeconds = startMoves.countedSeconds + startMoves.exchangeSeconds +
                 workAtStart[0] + workAtStart[1];
  if (isMemoryShort())
    secondsPerHeldByte = startSeconds / memoryOfStages();
  for (auto &[op, added] : options)
    if (added.variable >= 0)
      addWork(op, start.at(op));
  for (Operation *op : passing)
    if (isMarker(op))
      addConstraint(op);
    else
      addPassing(op, start.at(op));
  for (BlockArgument argument : block.getArguments())
    addValue(argument);
  for (Operation &op : block.without_terminator())
    for (Value result : op.getResults())
      addValue(result);
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// How often the op runs in a step.
double ShardingNetwork::runsOf(Operation *op) const {
  if (!op || leavesMicrobatches(op))
    return 1;
  MicrobatchesAttr loop = microbatches.loopOf(op);
  return loop ? static_cast<double>(loop.getCount()) : 1;
}

void ShardingNetwork::addStrategy(Options &options, OpStrategy strategy) {
  if (ownStrategies.empty() ||
      ownStrategies.back().data() != options.strategies.data())
    ownStrategies.push_back(options.strategies.vec());
  ownStrategies.back().push_back(std::move(strategy));
  options.strategies = ownStrategies.back();
}

void ShardingNetwork::addVariable(Options &options,
                                  const FactorSolution &start) {
  size_t index = options.find(start);
  if (index == options.strategies.size()) {
    OpStrategy strategy;
    strategy.operands.assign(start.operands.begin(), start.operands.end());
    strategy.results.assign(start.results.begin(), start.results.end());
    strategy.onTerms = start.onTerms;
    for (const OpStrategy &other : options.strategies)
      strategy.seconds = std::max(strategy.seconds, other.seconds);
    addStrategy(options, std::move(strategy));
  }
  options.variable = network.addVariable(options.strategies.size());
  startAssignment.push_back(static_cast<int32_t>(index));
}

double ShardingNetwork::bytesOnDevice(Value value, Id id) const {
  double shards = 1;
  for (const sharding::DimSharding &dim : prices.get(id).dims)
    shards *= static_cast<double>(sharding::numShards(dim.axes));
  return static_cast<double>(bytesOf(value)) / shards;
}

/// Of the results on one device.
double ShardingNetwork::heldBytes(Operation *op, ArrayRef<Id> results) const {
  double bytes = 0;
  for (auto [value, id] : llvm::zip_equal(op->getResults(), results))
    bytes += bytesOnDevice(value, id);
  return bytes;
}

/// What an op reads of memory and writes to it as part of a kernel, over what
/// it does by itself, one value of each element; never nothing, as it computes.
/// Of updates, which are long chains of ops: what activations are computed of
/// is kept for the backward pass as well.
double ShardingNetwork::shareInMemory(Operation *op) const {
  constexpr double least = 0.125;
  if (contracts(op) || standsAlone(op) || !updates.contains(op))
    return 1;
  double touched = 0, most = 1;
  auto add = [&](Value value, bool isInMemory) {
    const auto elements = double(typeOf(value).getNumElements());
    touched += isInMemory ? elements : 0;
    most = std::max(most, elements);
  };
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    add(operand, !(producer && producer->hasTrait<OpTrait::ConstantLike>()) &&
                     stored.contains(operand));
  }
  for (Value result : op->getResults())
    add(result, stored.contains(result));
  return std::max(least, touched / (2 * most));
}

void ShardingNetwork::addOp(Operation *op, const FactorSolution &start) {
  Options &added = options[op];
  const auto lists = functionStrategies.listsOf(op);
  added.strategies = lists.front();
  for (ArrayRef<OpStrategy> exchanging : lists.drop_front())
    for (const OpStrategy &strategy : exchanging)
      if (strategy.exchangeBytes != 0 &&
          added.find(strategy) == added.strategies.size())
        addStrategy(added, strategy);
  addVariable(added, start);
  workAtStart[contracts(op)] +=
      added.strategies[startAssignment[added.variable]].seconds *
      shareInMemory(op) * runsOf(op);
}

/// Adds what the strategies of an op cost by themselves. An exchange counts in
/// full, also one of a parameter: small gathers of several become one, and
/// exchanges do not.
void ShardingNetwork::addWork(Operation *op, const FactorSolution &start) {
  Options &added = options.find(op)->second;
  // To look up what others need in the own part of a table is work that saves
  // moving the table.
  bool isLookup = reach.ruleOf(op).category == sharding::OpCategory::Lookup;
  std::vector<const void *> types;
  for (Type type : op->getResultTypes())
    types.push_back(type.getAsOpaquePointer());
  auto [entry, isNew] = works.try_emplace(
      {added.strategies.data(), startAssignment[added.variable],
       std::move(types), runsOf(op), shareInMemory(op), contracts(op),
       isLookup},
      -1);
  if (isNew) {
    const double inMemory = shareInMemory(op);
    double usual =
        added.strategies[startAssignment[added.variable]].seconds * inMemory;
    double held = heldBytes(op, start.results);
    double share = workAtStart[contracts(op)];
    double extraWork =
        share == 0 || isLookup ? 0 : stepsPerWork * startSeconds / share;
    std::vector<Cost> work;
    for (const OpStrategy &strategy : added.strategies) {
      const double computing = strategy.seconds * inMemory;
      double seconds =
          computing + strategy.exchangeSeconds +
          extraWork * std::max(0.0, computing - usual) +
          shareOfHeldByte * prices.secondsPerSentByte() *
              std::max(0.0, heldBytes(op, strategy.results) - held);
      work.push_back(toCost(seconds * runsOf(op)));
    }
    entry->second = network.getTables().intern(std::move(work));
  }
  added.work = entry->second;
  network.addTable(added.variable, added.work);
}

/// What a constraint says.
FactorSolution ShardingNetwork::asConstrained(Operation *op) {
  Value result = op->getResult(0);
  Id id = prices.intern(getSharding(result), typeOf(result).getRank());
  return {{id}, {id}, false};
}

/// A constraint says over what dimensions are split; partial sums pass it. Of
/// what is added up over micro-batches it says so behind the last one.
void ShardingNetwork::addConstraint(Operation *op) {
  FactorSolution start = asConstrained(op);
  SetVector<Id> shardings;
  shardings.insert(start.results.front());
  const bool isAdded = isAddedUp(op->getResult(0));
  const End operand = madeBy(op->getOperand(0));
  for (Id id : operand.shardings) {
    sharding::Sharding constrained = prices.get(start.results.front());
    const sharding::Sharding &made = prices.get(id);
    if (made.unreduced.empty())
      continue;
    if (isAdded)
      shardings.insert(id);
    if (llvm::any_of(made.unreduced, [&](const sharding::AxisRef &axis) {
          return constrained.mentions(axis);
        }))
      continue;
    constrained.unreduced = made.unreduced;
    constrained.unreducedKind = made.unreducedKind;
    shardings.insert(prices.intern(constrained));
  }
  Options &added = options[op];
  for (Id id : shardings)
    addStrategy(added, {{id}, {id}});
  if (isAdded && operand.variable >= 0) {
    Id made = operand.shardings[startAssignment[operand.variable]];
    if (!prices.get(made).unreduced.empty())
      start = {{made}, {made}, false};
  }
  addVariable(added, start);
}

/// The function is that of all stages of a pipeline, of which each has a
/// device.
double ShardingNetwork::memoryOfStages() {
  MeshOp mesh = findMesh(function->getParentOfType<ModuleOp>());
  return prices.memoryOfDevice() *
         double(mesh.getMesh().toMesh().numDevices()) /
         double(prices.getMesh().numDevices());
}

bool ShardingNetwork::isMemoryShort() {
  double bytes = startMoves.bytesAlive;
  for (BlockArgument argument : function.getArguments())
    bytes += bytesOnDevice(argument, prices.intern(getSharding(argument),
                                                   typeOf(argument).getRank()));
  return bytes > shareOfShortMemory * memoryOfStages();
}

/// What all micro-batches use is held in no larger shards than some op takes it
/// by propagation: an axis that splits a weight where it computes is there to
/// hold less. So is recomputation: what is taken again for it stays as it is.
double ShardingNetwork::mostHeldBytes(MicrobatchUseOp use,
                                      const FactorSolution &start) const {
  double most = heldBytes(use, start.results);
  if (llvm::any_of(use->getUsers(), llvm::IsaPred<BarrierOp>))
    return most;
  if (auto found = usualNeeds.find(use.getResult()); found != usualNeeds.end())
    for (Id need : found->second.needs)
      most = std::max(most, heldBytes(use, need));
  return most;
}

/// Anything that is made of its operand, or wanted of its result.
void ShardingNetwork::addPassing(Operation *op, const FactorSolution &start) {
  SetVector<Id> shardings;
  auto add = [&](Id id) {
    shardings.insert(id);
    sharding::Sharding reduced = prices.get(id);
    reduced.unreduced.clear();
    shardings.insert(prices.intern(reduced));
  };
  auto addAll = [&] {
    for (Id id : madeBy(op->getOperand(0)).shardings)
      add(id);
    for (OpOperand &use : op->getResult(0).getUses())
      if (auto user = options.find(use.getOwner()); user != options.end())
        for (const OpStrategy &strategy : user->second.strategies)
          if (use.getOperandNumber() < strategy.operands.size())
            add(strategy.operands[use.getOperandNumber()]);
  };
  if (movesBefore(op))
    shardings.insert(start.operands.front());
  else
    addAll();
  Options &added = options[op];
  const auto held = mostHeld.find(op);
  for (Id id : shardings)
    if (passesOn(op, prices.get(id)) &&
        (held == mostHeld.end() || heldBytes(op, id) <= held->second))
      addStrategy(added, {{id}, {id}});
  addVariable(added, start);
  if (!isa<MicrobatchSumOp>(op))
    return;
  // Each micro-batch reads the sum and writes it.
  const double perByte =
      secondsPerHeldByte +
      2 * double(microbatches.loopOf(op).getCount()) * prices.secondsPerByte();
  std::vector<Cost> costs;
  for (const OpStrategy &strategy : added.strategies)
    costs.push_back(toCost(perByte * heldBytes(op, strategy.results)));
  added.work = network.getTables().intern(std::move(costs));
  network.addTable(added.variable, added.work);
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// The value in a type that holds the same in fewer bytes, if there is one.
static RankedTensorType typeToMove(Value value) {
  Operation *op = value.getDefiningOp();
  return typeOf(op && takesMoreBytes(op) ? op->getOperand(0) : value);
}

bool weft::isPartOf(const sharding::Sharding &part,
                    const sharding::Sharding &whole) {
  return part.unreduced == whole.unreduced &&
         llvm::all_of(llvm::zip_equal(part.dims, whole.dims), [](auto dims) {
           const auto &[fine, coarse] = dims;
           return coarse.axes.size() <= fine.axes.size() &&
                  llvm::equal(coarse.axes, llvm::ArrayRef(fine.axes).take_front(
                                               coarse.axes.size()));
         });
}

/// The all-reduces that move the value for `user` as a part of another call.
ArrayRef<int32_t> ShardingNetwork::joinedSums(Value value, Operation *user) {
  if (sumLatency != SumLatency::OfNewCalls)
    return {};
  const bool isInLoop = runsOf(value.getDefiningOp()) > 1;
  return *joinedLists.insert(calls->joinedBy(rootOf(value), user, isInLoop))
              .first;
}

Cost ShardingNetwork::costOf(Id from, Id to, Value value,
                             ArrayRef<int32_t> joined) {
  RankedTensorType type =
      prices.reduces(from, to) ? prices.typeToSum(value) : typeToMove(value);
  double seconds;
  if (sumLatency == SumLatency::None)
    seconds = prices.secondsWithFreeSums(from, to, type);
  else if (overlaps(value, from, to))
    seconds = prices.seconds(from, to, type);
  else
    seconds = prices.secondsWithFreeSums(from, to, type, joined);
  return toCost(seconds * weightOf(value, from, to) +
                maskSeconds(from, to, value));
}

/// What it takes each micro-batch to make terms of a whole value: zeros on all
/// devices but one. In a program without them what else terms lead to, sums of
/// several at once, is worth more.
double ShardingNetwork::maskSeconds(Id from, Id to, Value value) const {
  const double bytes = bytesOnDevice(value, to),
               runs = runsOf(rootOf(value).getDefiningOp());
  if (!prices.get(from).unreduced.empty() || prices.get(to).unreduced.empty() ||
      runs == 1 || bytes <= prices.smallBytes())
    return 0;
  return runs * passesOfMask * bytes * prices.secondsPerByte();
}

/// What it costs to move a value: a row for each sharding at the end with the
/// lower number.
ShardingNetwork::Table ShardingNetwork::tableOf(const End &from, const End &to,
                                                Value value) {
  ArrayRef<int32_t> joined = joinedSums(value, to.user);
  auto [entry, isNew] = moves.try_emplace(
      {from.shardings.data(), to.shardings.data(),
       prices.typeToSum(value).getAsOpaquePointer(),
       typeToMove(value).getAsOpaquePointer(), runsOf(value.getDefiningOp()),
       intern(overlappingNeeds(value).vec()).data(),
       2 * early.contains(rootOf(value).getDefiningOp()) +
           late.contains(rootOf(value).getDefiningOp()),
       joined.data(), to.isBarrier});
  auto &[table, turned] = entry->second;
  if (isNew) {
    std::vector<Cost> costs;
    for (Id a : from.shardings)
      for (Id b : to.shardings)
        costs.push_back(to.isBarrier && a != b &&
                                prices.get(a).unreduced.empty()
                            ? optimize::forbidden
                            : costOf(a, b, value, joined));
    table = network.getTables().intern(std::move(costs));
  }
  if (to.variable < 0 || from.variable <= to.variable)
    return table;
  if (turned < 0) {
    const std::vector<Cost> &costs = network.getTables()[table];
    size_t rows = from.shardings.size(), columns = to.shardings.size();
    std::vector<Cost> columnsFirst(costs.size());
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        columnsFirst[j * rows + i] = costs[i * columns + j];
    turned = network.getTables().intern(std::move(columnsFirst));
  }
  return turned;
}

void ShardingNetwork::addMove(const End &from, const End &to, Value value) {
  Table table = tableOf(from, to, value);
  auto [first, second] = std::minmax(from.variable, to.variable);
  if (first >= 0)
    network.addCosts(first, second, table);
  else if (second >= 0)
    network.addTable(second, table);
  else
    fixedCost += network.getTables()[table].front();
}

/// Equal lists lie at one address.
ArrayRef<Id> ShardingNetwork::intern(std::vector<Id> list) {
  return *lists.insert(std::move(list)).first;
}

ArrayRef<Id> ShardingNetwork::shardingsOf(ArrayRef<OpStrategy> strategies,
                                          Tensor tensor) {
  auto [entry, isNew] = listsOf.try_emplace(
      {strategies.data(), 2 * tensor.number + tensor.isResult});
  if (isNew) {
    std::vector<Id> list;
    for (const OpStrategy &strategy : strategies)
      list.push_back(tensor.isResult ? strategy.results[tensor.number]
                                     : strategy.operands[tensor.number]);
    entry->second = intern(std::move(list));
  }
  return entry->second;
}

/// The shardings in which the value is made; none if it may be any.
ShardingNetwork::End ShardingNetwork::madeBy(Value value) {
  Operation *op = value.getDefiningOp();
  auto found = op ? options.find(op) : options.end();
  End end;
  if (found == options.end()) {
    end.shardings =
        intern({prices.intern(getSharding(value), typeOf(value).getRank())});
    return end;
  }
  end.variable = found->second.variable;
  end.shardings =
      shardingsOf(found->second.strategies,
                  {/*isResult=*/true, cast<OpResult>(value).getResultNumber()});
  return end;
}

SmallVector<ShardingNetwork::End> ShardingNetwork::neededBy(Value value) {
  SmallVector<End> ends;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    End &end = ends.emplace_back();
    end.user = user;
    if (isa<func::ReturnOp>(user)) {
      end.shardings = intern(
          {prices.intern(getResultSharding(function, use.getOperandNumber()),
                         typeOf(value).getRank())});
      continue;
    }
    const Options &found = options.find(user)->second;
    // What a barrier waits for is not moved.
    if (found.strategies.front().operands.size() <= use.getOperandNumber()) {
      ends.pop_back();
      continue;
    }
    end.variable = found.variable;
    end.isBarrier = isa<BarrierOp>(user);
    end.shardings = shardingsOf(found.strategies,
                                {/*isResult=*/false, use.getOperandNumber()});
  }
  // Uses are listed last to first.
  std::reverse(ends.begin(), ends.end());
  return ends;
}

/// What a value may be kept as: as it is made, its sum, and as it is needed.
ArrayRef<Id> ShardingNetwork::candidatesFor(const End &made,
                                            ArrayRef<End> needed) {
  std::vector<const Id *> key = {made.shardings.data()};
  for (const End &need : needed)
    key.push_back(need.shardings.data());
  auto [entry, isNew] = candidates.try_emplace(std::move(key));
  if (isNew) {
    SetVector<Id> ids;
    for (Id id : made.shardings) {
      ids.insert(id);
      sharding::Sharding reduced = prices.get(id);
      reduced.unreduced.clear();
      ids.insert(prices.intern(reduced));
    }
    for (const End &need : needed)
      ids.insert(need.shardings.begin(), need.shardings.end());
    entry->second = intern({ids.begin(), ids.end()});
  }
  return entry->second;
}

void ShardingNetwork::addValue(Value value) {
  Operation *op = value.getDefiningOp();
  auto constant = dyn_cast_or_null<arith::ConstantOp>(op);
  if (constant && isa<SplatElementsAttr>(constant.getValue()))
    return; // made as it is needed
  End made = madeBy(value);
  if (constant)
    made.shardings = intern(
        {prices.intern(sharding::Sharding::closed(typeOf(value).getRank()))});
  SmallVector<End> needed = neededBy(value);
  // What waits behind a barrier takes memory as it is made.
  for (const End &need : needed)
    if (need.isBarrier)
      addMove(made, need, value);
  llvm::erase_if(needed, [](const End &need) { return need.isBarrier; });
  if (needed.size() < 2) {
    for (const End &need : needed)
      addMove(made, need, value);
    return;
  }
  End kept;
  kept.shardings = candidatesFor(made, needed);
  kept.variable = network.addVariable(kept.shardings.size());
  // The first in the block: uses have no order that a text keeps.
  kept.user = llvm::min_element(needed, [](const End &a, const End &b) {
                return a.user->isBeforeInBlock(b.user);
              })->user;
  // At the start it is kept as it is made.
  Id start = made.variable < 0 ? made.shardings.front()
                               : made.shardings[startAssignment[made.variable]];
  startAssignment.push_back(llvm::find(kept.shardings, start) -
                            kept.shardings.begin());
  addMove(made, kept, value);
  for (const End &need : needed)
    addMove(kept, need, value);
  keptValues.push_back({std::move(kept), std::move(made), std::move(needed)});
}
