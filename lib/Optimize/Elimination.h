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

class Elimination {
public:
  using Variable = CostNetwork::Variable;
  using Factor = CostNetwork::Factor;

  /// Where values are given up, those of `incumbent` are not: what is found is
  /// never worse. `nearIncumbent`: those are given up that cost most while all
  /// others are as in it; else those of the greatest lower bounds.
  Elimination(CostTables tables, std::vector<size_t> sizes,
              const std::vector<Factor> &factors, size_t maxTable,
              CostNetwork::Assignment incumbent, bool nearIncumbent);

  /// Leaves each variable some of its values.
  void allowOnly(const std::vector<std::vector<int32_t>> &allowed);
  CostNetwork::Assignment run();
  /// Whether only values were given up that are in no better assignment.
  bool isExact() const { return exact; }

private:
  /// Factors as they lie to each other: their tables, the positions of their
  /// variables among all of theirs, and the sizes of these.
  using Shape = std::vector<int64_t>;
  template <typename Value>
  using ByShape = std::unordered_map<Shape, Value, HashOfNumbers>;

  /// A variable and the factors that it is in, as tables over its neighbours
  /// and itself.
  struct Bucket {
    std::vector<Variable> neighbours;
    std::vector<int32_t> factors;
  };
  /// For each assignment of the neighbours the best value of the variable.
  using Best = std::vector<uint16_t>;
  struct Eliminated {
    CostTables::Id table;
    const Best *best;
  };
  struct Record {
    Variable variable;
    std::vector<Variable> neighbours;
    const Best *best;
  };

  Bucket bucketOf(Variable variable) const;
  double entriesOf(const Bucket &bucket) const;
  Shape shapeOf(Variable variable, const Bucket &bucket) const;
  std::vector<int32_t> undominated(Variable variable, const Bucket &bucket);
  void removeDominated();
  void keep(Variable variable, const std::vector<int32_t> &values);
  std::vector<Cost> lowerBounds(Variable variable) const;
  std::vector<Cost> costsAtIncumbent(Variable variable) const;
  void giveUpValues(Variable variable);
  void dropIfDecided(Variable variable);
  void eliminate(Variable variable);
  Eliminated combine(Variable variable, const Bucket &bucket);
  void enqueue(Variable variable);
  void addFactor(Factor factor);
  void removeFactor(int32_t factor);

  CostTables tables;
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
  std::vector<Record> records;
  // What was worked out before, for equal parts of the network.
  ByShape<Eliminated> eliminated;
  ByShape<std::vector<int32_t>> undominatedOf;
  ByShape<CostTables::Id> kept;
  std::vector<std::unique_ptr<Best>> bests;
};

} // namespace weft::optimize

#endif // WEFT_LIB_OPTIMIZE_ELIMINATION_H
