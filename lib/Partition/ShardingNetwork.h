//===- ShardingNetwork.h - The choices of a function as costs ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The choice of a strategy for every op of a function as a cost network. Its
// variables are the ops, and the values with several users: a value may be
// moved once, to the sharding that is kept, and from there to what each user
// needs. Costs are times, in picoseconds: of the reshards between what one op
// leaves and another takes, and of computing. What a loop over micro-batches
// does costs as often as it is done.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_SHARDINGNETWORK_H
#define WEFT_LIB_PARTITION_SHARDINGNETWORK_H

#include "HeldVersions.h"
#include "OpChoices.h"
#include "ProgramCalls.h"
#include "StoredValues.h"
#include "StrategyTables.h"

#include "weft/IR/Microbatches.h"
#include "weft/Optimize/ReducedNetwork.h"

#include <deque>
#include <set>

namespace weft {

/// Whether a device has in `part` a part of what it has in `whole`.
bool isPartOf(const sharding::Sharding &part, const sharding::Sharding &whole);

/// Picoseconds; what takes forever is forbidden.
optimize::Cost toCost(double seconds);

class ShardingNetwork {
public:
  using Id = ReshardPrices::Id;

  /// What an all-reduce pays beside what it sends: as any call; nothing, as if
  /// all were one call; or, if nothing overlaps with it, nothing where it joins
  /// one of the calls that choices found before lead to.
  enum class SumLatency { AsAnyCall, None, OfNewCalls };

  /// `start`: a choice for each op, which is one of its strategies from then
  /// on. `calls`: for SumLatency::OfNewCalls.
  ShardingNetwork(mlir::func::FuncOp function, const OpChoices &start,
                  FunctionStrategies &functionStrategies,
                  SumLatency sumLatency = SumLatency::AsAnyCall,
                  const ProgramCalls *calls = nullptr);

  /// The cheapest choices that are found.
  OpChoices solve(optimize::CostNetwork::Options limits);
  /// Others that were found on the way, better than the start by the network.
  std::vector<OpChoices> getAlternatives() const;
  /// What moving data takes in a step, as choices are carried out.
  struct Moves {
    /// Those that count, see weightOf, and all.
    double countedSeconds = 0;
    double seconds = 0;
    /// Of all, exchanges that are a part of ops, and count with these.
    double exchangeSeconds = 0;
    /// As countedSeconds, with a whole latency for each call that is left where
    /// calls become one, of those that nothing overlaps with; and what
    /// latencies of such all-reduces are of it.
    double combinedSeconds = 0;
    double sumLatencySeconds = 0;
    ProgramCalls calls;
    /// Bytes that each device sends.
    double wireBytes = 0;
    /// The most bytes of results of ops, and of what is made of values by
    /// moving them, that a device has at once.
    double bytesAlive = 0;
  };
  Moves movesOf(const OpChoices &choices) const;
  const Moves &getStartMoves() const { return startMoves; }
  /// What choices cost as they are carried out, every version of a value made
  /// of the nearest one there is: `moveSeconds` of moves, and their work.
  optimize::Cost costCarriedOut(const OpChoices &choices,
                                double moveSeconds) const;

  const optimize::CostNetwork &getNetwork() const { return network; }
  const optimize::CostNetwork::Solution &getSolution() const {
    return solution;
  }
  /// Values of variables, of which not all can hold at once: they would not be
  /// carried out so, which the costs do not say. Fixed ends have variable -1.
  using Exclusion = std::vector<
      std::pair<optimize::CostNetwork::Variable, std::vector<int32_t>>>;
  std::vector<Exclusion> exclusions() const;
  /// Of moves that no choice changes.
  optimize::Cost getFixedCost() const { return fixedCost; }

private:
  using Variable = optimize::CostNetwork::Variable;
  using Table = optimize::CostNetwork::Table;

  /// What an op, or a value that is kept, may be, with its shardings.
  struct Options {
    Variable variable = -1;
    /// Equal ops have the same list.
    llvm::ArrayRef<OpStrategy> strategies;
    /// What each costs by itself; negative if nothing.
    Table work = -1;

    /// The number of the strategy that takes and leaves as the choice; their
    /// count if there is none.
    template <typename Choice> size_t find(const Choice &choice) const {
      return llvm::find_if(
                 strategies,
                 [&](const OpStrategy &strategy) {
                   return llvm::equal(strategy.operands, choice.operands) &&
                          llvm::equal(strategy.results, choice.results);
                 }) -
             strategies.begin();
    }
  };
  /// A sharding for each value of a variable, or one that is fixed.
  struct End {
    Variable variable = -1;
    /// Of `lists`: equal ones lie at one address.
    llvm::ArrayRef<Id> shardings;
    /// The op that takes it, if it is needed there.
    mlir::Operation *user = nullptr;
    bool isBarrier = false;
  };

  bool contracts(mlir::Operation *op) const;
  double shareInMemory(mlir::Operation *op) const;
  bool isElementwise(mlir::Operation *op) const;
  /// An operand or a result of an op, by its number.
  struct Tensor {
    bool isResult;
    unsigned number;
  };
  double bytesOnDevice(mlir::Value value, Id id) const;
  double heldBytes(mlir::Operation *op, llvm::ArrayRef<Id> results) const;
  const OpStrategy *strategyOf(mlir::Operation *op,
                               const FactorSolution &choice) const;
  void addStrategy(Options &options, OpStrategy strategy);
  llvm::ArrayRef<Id> intern(std::vector<Id> list);
  llvm::ArrayRef<Id> shardingsOf(llvm::ArrayRef<OpStrategy> strategies,
                                 Tensor tensor);
  llvm::ArrayRef<Id> candidatesFor(const End &made, llvm::ArrayRef<End> needed);
  Table tableOf(const End &from, const End &to, mlir::Value value);
  void addOp(mlir::Operation *op, const FactorSolution &start);
  void addWork(mlir::Operation *op, const FactorSolution &start);
  FactorSolution asConstrained(mlir::Operation *op);
  void addConstraint(mlir::Operation *op);
  double maskSeconds(Id from, Id to, mlir::Value value) const;
  double memoryOfStages();
  bool isMemoryShort();
  double mostHeldBytes(MicrobatchUseOp use, const FactorSolution &start) const;
  void addPassing(mlir::Operation *op, const FactorSolution &start);
  void addValue(mlir::Value value);
  void addVariable(Options &options, const FactorSolution &start);
  void addMove(const End &from, const End &to, mlir::Value value);
  End madeBy(mlir::Value value);
  llvm::SmallVector<End> neededBy(mlir::Value value);
  using Assignment = optimize::CostNetwork::Assignment;
  Id without(Id id, uint64_t axes);
  std::vector<std::vector<int32_t>> differingIn(uint64_t axes,
                                                const Assignment &assignment);
  std::vector<std::vector<int32_t>> keptOnly(const Assignment &assignment);
  optimize::CostNetwork::Solution
  improveByAxes(const optimize::ReducedNetwork &reduced,
                optimize::CostNetwork::Solution solution,
                const optimize::CostNetwork::Options &limits,
                llvm::ArrayRef<optimize::CostNetwork::Solution> improved);
  void search(optimize::CostNetwork::Options limits);
  OpChoices choicesOf(const Assignment &assignment) const;
  class Walk;
  ProgramCalls::Mobility mobilityOf(mlir::Operation *op,
                                    const FactorSolution &choice,
                                    bool exchanges) const;
  bool isSlicedSum(Id made, Id kept, Id need) const;
  using Values = std::vector<std::vector<int32_t>>;
  struct KeptValue;
  llvm::SmallVector<size_t> keepAsNeeded(Assignment &assignment) const;
  void addBranches(const KeptValue &value, const Assignment &assignment,
                   const Values &allowed,
                   std::vector<std::pair<Values, Assignment>> &branches) const;
  void correct(const optimize::CostNetwork::Options &limits);
  llvm::ArrayRef<int32_t> joinedSums(mlir::Value value, mlir::Operation *user);
  optimize::Cost costOf(Id from, Id to, mlir::Value value,
                        llvm::ArrayRef<int32_t> joined);
  double runsOf(mlir::Operation *op) const;
  llvm::ArrayRef<Id> overlappingNeeds(mlir::Value value) const;
  bool overlaps(mlir::Value value, Id from, Id to) const;
  double weightOf(mlir::Value value, Id from, Id to) const;
  void findEarlyAndLate(mlir::Block &block, const OpChoices &start);
  void findUpdates(mlir::Block &block);

  mlir::func::FuncOp function;
  SumLatency sumLatency;
  const ProgramCalls *calls;
  FunctionStrategies &functionStrategies;
  ReshardPrices &prices;
  const AxisReach &reach;
  Microbatches microbatches;
  const StoredValues stored;
  optimize::CostNetwork network;
  optimize::CostNetwork::Assignment startAssignment;
  optimize::CostNetwork::Solution solution;
  std::vector<optimize::CostNetwork::Assignment> alternatives;
  optimize::Cost fixedCost = 0;
  Moves startMoves;
  llvm::DenseSet<mlir::Operation *> early, late;
  /// What only states are made of without a matmul.
  llvm::DenseSet<mlir::Operation *> updates;
  /// What the start takes of each value, but of tables, and of what slices are
  /// taken of along a split dimension: these do not need what they are given.
  Needs usualNeeds;
  /// Bytes that a device may hold of what all micro-batches use.
  llvm::DenseMap<mlir::Operation *, double> mostHeld;
  /// Seconds that a device computes in a step with the start's choices: in
  /// matmuls and lookups [1], and in other ops [0].
  double workAtStart[2] = {0, 0};
  /// That, and what counts of moves.
  double startSeconds = 0;
  /// Of sums of micro-batches, while memory is short.
  double secondsPerHeldByte = 0;
  llvm::MapVector<mlir::Operation *, Options> options;
  /// A value that is kept, as its op makes it and as its users need it.
  struct KeptValue {
    End kept, made;
    llvm::SmallVector<End> needed;
  };
  std::vector<KeptValue> keptValues;
  std::map<std::pair<Id, uint64_t>, Id> withoutAxes;
  // What equal ops and values share, by addresses that are only looked up.
  /// Lists of strategies that are not those of the tables alone.
  std::deque<std::vector<OpStrategy>> ownStrategies;
  std::set<std::vector<Id>> lists;
  std::set<std::vector<int32_t>> joinedLists;
  llvm::DenseMap<std::pair<const OpStrategy *, unsigned>, llvm::ArrayRef<Id>>
      listsOf;
  /// What a value may be kept as, by the lists at its ends.
  std::map<std::vector<const Id *>, llvm::ArrayRef<Id>> candidates;
  /// By the strategies and that of the start, the types of the results, the
  /// runs, what is in memory, and the kind of work.
  std::map<std::tuple<const OpStrategy *, int32_t, std::vector<const void *>,
                      double, double, bool, bool>,
           Table>
      works;
  /// Tables of moves by the shardings at both ends, the types, the runs, what
  /// overlaps with the step, what all-reduces are free, and whether it waits
  /// behind a barrier. The second has a row for each sharding at the later end.
  struct MoveTables {
    Table table = -1, turned = -1;
  };
  std::map<std::tuple<const Id *, const Id *, const void *, const void *,
                      double, const Id *, int, const int32_t *, bool>,
           MoveTables>
      moves;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_SHARDINGNETWORK_H
