//===- CostNetwork.h - Choices whose costs depend on each other -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cost network (weighted constraint network): variables with a few values
// each, and tables of costs over one variable or two. Wanted is the assignment
// of the least sum. Costs are whole numbers, so that sums do not depend on
// their order.
//
// It is found by bucket elimination (Dechter 1999): a variable is replaced by
// a table over its neighbours that holds the best of its values for each of
// theirs. Tables are numbered by what they hold, so that an elimination met
// before, in an equal layer of a model, is one look into a table, and equal
// layers get equal answers. Where a table would be too large, the values of
// its variables that look worst are given up; then the answer need not be the
// best, and is improved by changing one variable at a time, and by going
// through the values again that are good near the best answer so far.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_OPTIMIZE_COSTNETWORK_H
#define WEFT_OPTIMIZE_COSTNETWORK_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace weft::optimize {

using Cost = int64_t;
/// No sum of costs is more: an assignment that has it is forbidden.
inline constexpr Cost forbidden = Cost(1) << 58;

struct HashOfNumbers {
  size_t operator()(const std::vector<int64_t> &numbers) const;
};

/// Tables of costs by what they hold: equal ones have one number.
class CostTables {
public:
  using Id = int32_t;

  Id intern(std::vector<Cost> costs);
  const std::vector<Cost> &operator[](Id id) const { return *tables[id]; }
  size_t size() const { return tables.size(); }

private:
  /// Copies share them.
  std::vector<std::shared_ptr<const std::vector<Cost>>> tables;
  std::unordered_multimap<uint64_t, Id> ids;
};

struct KnownParts;

/// Solving keeps what it worked out: no two threads may solve one network at a
/// time.
class CostNetwork {
public:
  CostNetwork();
  CostNetwork(CostNetwork &&);
  ~CostNetwork();

  using Variable = int32_t;
  using Table = CostTables::Id;
  using Assignment = std::vector<int32_t>;

  /// Costs of some variables, in ascending order; the last one's values are
  /// next to each other in the table.
  struct Factor {
    std::vector<Variable> scope;
    Table table;
  };

  /// Adds a variable of `numValues` values.
  Variable addVariable(size_t numValues);
  size_t numVariables() const { return sizes.size(); }
  size_t numValues(Variable variable) const { return sizes[variable]; }

  /// Adds the costs of the values of a variable.
  void addCosts(Variable variable, std::vector<Cost> costs);
  void addTable(Variable variable, Table table);
  /// Adds costs of two variables, a row for each value of the first, which has
  /// the lower number. `table` is of getTables().
  void addCosts(Variable first, Variable second, Table table);
  CostTables &getTables() { return tables; }
  const CostTables &getTables() const { return tables; }
  /// Adds costs of any variables.
  void addFactor(Factor factor);
  const std::vector<size_t> &getSizes() const { return sizes; }
  const std::vector<Factor> &getFactors() const { return factors; }

  /// The sum of all costs.
  Cost cost(const Assignment &assignment) const;

  struct Options {
    /// Entries of the largest table that is made.
    size_t maxTable = 1 << 18;
    /// Times that single variables are gone through at the end.
    int maxSweeps = 20;
    /// Times that the values around the best assignment so far are gone
    /// through, where some were given up.
    int maxRounds = 8;
  };
  struct Solution {
    Assignment assignment;
    Cost cost = 0;
    /// No value was given up: the assignment is the best.
    bool isOptimal = false;
  };
  /// The best assignment that is found, never worse than `start`.
  Solution solve(const Assignment &start, const Options &options) const;
  Solution solve(const Assignment &start) const {
    return solve(start, Options());
  }
  /// The same among some values of each variable, in ascending order, of which
  /// that of `start` is one.
  Solution solveAmong(const Assignment &start,
                      const std::vector<std::vector<int32_t>> &allowed,
                      const Options &options) const;

private:
  Solution eliminate(const Assignment &incumbent, bool nearIncumbent,
                     const std::vector<std::vector<int32_t>> *allowed,
                     size_t maxTable) const;
  Cost costOf(const Factor &factor, const Assignment &assignment) const;
  void improve(Assignment &assignment, int maxSweeps) const;

  CostTables tables;
  std::vector<size_t> sizes;
  std::vector<Factor> factors;
  std::vector<std::vector<int32_t>> factorsOf;
  mutable std::unique_ptr<KnownParts> known;
};

} // namespace weft::optimize

#endif // WEFT_OPTIMIZE_COSTNETWORK_H
