//===- Elimination.h - Bucket elimination of a cost network -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_OPTIMIZE_ELIMINATION_H
#define WEFT_LIB_OPTIMIZE_ELIMINATION_H

#include "weft/Optimize/CostNetwork.h"

#include <memory>
#include <set>
#include <unordered_map>

namespace weft::optimize {

/// What was worked out before, for equal parts of a network, by eliminations of
/// networks that have the same tables.
struct KnownParts {
  explicit KnownParts(const CostTables &tables)
      : tables(tables), numGiven(tables.size()) {}

  /// Factors as they lie to each other: their tables, the positions of their
  /// variables among all of theirs, and the sizes of these.
  using Shape = std::vector<int64_t>;
  template <typename Value>
  using ByShape = std::unordered_map<Shape, Value, HashOfNumbers>;

  /// For each assignment of the neighbours the best value of the variable.
  using Best = std::vector<uint16_t>;
  struct Eliminated {
    CostTables::Id table = 0;
    const Best *best = nullptr;
  };
  /// Which values of a variable stay, in ascending order, and for each value
  /// the number among these of the one that takes its place; -1 if none does.
  struct Selection {
    std::vector<int32_t> values;
    std::vector<int32_t> numbers;
  };

  CostTables tables;
  /// Of the tables, the network's.
  size_t numGiven;
  ByShape<Eliminated> eliminated;
  ByShape<Selection> undominatedOf;
  ByShape<CostTables::Id> kept;
  std::vector<std::unique_ptr<Best>> bests;
  /// Of the tables that were made.
  size_t numEntries = 0;
};

class Elimination {
public:
  using Variable = CostNetwork::Variable;
  using Factor = CostNetwork::Factor;

  /// Where values are given up, those of `incumbent` are not: what is found is
  /// never worse. `nearIncumbent`: those are given up that cost most while all
  /// others are as in it; else those of the greatest lower bounds.
  Elimination(KnownParts &known, std::vector<size_t> sizes,
              const std::vector<Factor> &factors, size_t maxTable,
              CostNetwork::Assignment incumbent, bool nearIncumbent);

  /// Leaves each variable some of its values.
  void allowOnly(const std::vector<std::vector<int32_t>> &allowed);
  /// A best assignment among the values that are not given up.
  CostNetwork::Assignment run();
  /// Whether only values were given up that are in no better assignment.
  bool isExact() const { return exact; }

  /// Eliminates variables while that takes tables of at most the size given to
  /// the constructor, and gives up no value.
  void reduce();
  /// What is left: the variables, their numbers of values, and their factors.
  std::vector<Variable> remaining() const;
  size_t sizeOf(Variable variable) const { return sizes[variable]; }
  const std::vector<Factor> &getFactors() const { return factors; }
  const CostTables &getTables() const { return tables; }
  /// The numbers, among those that a variable still has, of some of its values.
  std::vector<int32_t> numbersLeft(Variable variable,
                                   const std::vector<int32_t> &values) const;
  /// For each variable the number, among the values that it still has, of its
  /// value in an assignment that costs no more than this one.
  CostNetwork::Assignment project(CostNetwork::Assignment assignment) const;
  /// The best assignment in which the variables that remain have these of
  /// their values; what it has for others does not count.
  CostNetwork::Assignment lift(CostNetwork::Assignment remaining) const;

private:
  using Shape = KnownParts::Shape;
  using Best = KnownParts::Best;
  using Eliminated = KnownParts::Eliminated;
  using Selection = KnownParts::Selection;

  /// A variable and the factors that it is in, as tables over its neighbours
  /// and itself.
  struct Bucket {
    std::vector<Variable> neighbours;
    std::vector<int32_t> factors;
  };

  /// What happened to a variable: it was eliminated, or has some of its values
  /// only.
  struct Step {
    Variable variable;
    std::vector<Variable> neighbours;
    /// Null where values were selected.
    const Best *best = nullptr;
    Selection selection;
  };

  /// Where no other value takes the place of one that is given up.
  Selection only(Variable variable, std::vector<int32_t> values) const;
  Bucket bucketOf(Variable variable) const;
  std::vector<Cost> rowsOf(const Factor &factor, Variable variable) const;
  double entriesOf(const Bucket &bucket) const;
  Shape shapeOf(Variable variable, const Bucket &bucket) const;
  Selection undominated(Variable variable, const Bucket &bucket) const;
  bool removeDominated();
  void prepare();
  void keep(Variable variable, const Selection &selection);
  std::vector<Cost> lowerBounds(Variable variable) const;
  std::vector<Cost> costsAtIncumbent(Variable variable) const;
  void giveUpValues(Variable variable);
  void dropIfDecided(Variable variable);
  void eliminate(Variable variable);
  Eliminated combine(Variable variable, const Bucket &bucket);
  void enqueue(Variable variable);
  void enqueueAround(Variable variable);
  void addFactor(Factor factor);
  void removeFactor(int32_t factor);

  KnownParts &known;
  CostTables &tables;
  std::vector<size_t> sizes;
  size_t maxTable;
  /// Numbers of values among those that the variables still have.
  CostNetwork::Assignment incumbent;
  bool nearIncumbent;
  bool exact = true;
  std::vector<Factor> factors;
  /// In ascending order.
  std::vector<std::vector<int32_t>> factorsOf;
  /// The original numbers of the values that a variable still has.
  std::vector<std::vector<int32_t>> valuesOf;
  /// Variables by the work of their elimination.
  std::set<std::pair<double, Variable>> queue;
  std::vector<double> workOf;
  std::vector<bool> isEliminated;
  /// Whether what a variable shares with others has changed since its values
  /// were last compared.
  std::vector<bool> mayBeDominated;
  std::vector<Step> steps;
};

} // namespace weft::optimize

#endif // WEFT_LIB_OPTIMIZE_ELIMINATION_H
