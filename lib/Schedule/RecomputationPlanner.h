//===- RecomputationPlanner.h - How recomputation is planned ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In this order: what is alive when (RecomputationLives.cpp), what to keep and
// what to recompute (RecomputationChoice.cpp), which kernels do so
// (RecomputationGroups.cpp), and what it costs (RecomputationPlan.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_RECOMPUTATIONPLANNER_H
#define WEFT_LIB_SCHEDULE_RECOMPUTATIONPLANNER_H

#include "FusionGraph.h"
#include "RecomputationPlan.h"

#include "weft/IR/InstructionOpInterface.h"

namespace weft {

/// What time is worth against memory, as bytes that are kept for the time in
/// which one is read or written.
struct Exchange {
  double computed, written;
};

/// Plans for the peak of one block.
class RecomputationPlanner {
public:
  RecomputationPlanner(const BlockGraph &graph, const cost::CostModel &model,
                       bool onlyLarge)
      : graph(graph), nodes(graph.nodes), model(model), onlyLarge(onlyLarge) {
    findUses();
    findSources();
    measure();
  }

  std::optional<RecomputationPlan> plan(double mostSeconds);

private:
  /// The levels at which a buffer is in memory.
  struct Life {
    unsigned birth = 0, last = 0;
    bool isStored = false;
  };
  /// A level, and the barrier before it that an op waits for.
  using Key = std::pair<unsigned, int>;

  void findUses();
  void findSources();
  void measure();
  std::map<unsigned, unsigned>
  findWritten(const RecomputationGroup &group) const;
  std::vector<int64_t> countAlive(const RecomputationPlan &plan) const;
  bool isEarly(unsigned number) const { return isOfFirstHalf[number]; }
  bool isAlias(unsigned number) const { return isView(graph.ops[number]); }
  bool isBarrier(unsigned number) const {
    return weft::isBarrier(nodes[number]);
  }
  bool isReturned(unsigned number) const;
  bool isStoredEarly(unsigned number) const;
  bool isRecomputable(unsigned number) const;
  bool needsStoredOperand(unsigned number) const;
  double secondsOf(unsigned number) const;

  int64_t findLeast(llvm::ArrayRef<unsigned> numbers,
                    llvm::ArrayRef<char> isFixed) const;
  void choose(const Exchange &exchange);
  RecomputationPlan formGroups();
  void addUse(RecomputationGroup &group, unsigned user, unsigned value);
  std::optional<Key> findCompany(unsigned user,
                                 const RecomputationGroup &alone);
  RecomputationGroup *findWriter(RecomputationPlan &plan, unsigned user,
                                 const RecomputationGroup &alone) const;
  double estimateSeconds(const RecomputationPlan &plan) const;

  const BlockGraph &graph;
  const std::vector<FusionOp> &nodes;
  const cost::CostModel &model;
  const bool onlyLarge;
  std::vector<unsigned> levels;
  /// Whether an op is of the first half: it runs there, or would but for the
  /// operands that it keeps, and can be recomputed.
  std::vector<char> isOfFirstHalf;
  /// What each op reads, without what it only waits for, and who reads it.
  std::vector<llvm::SmallVector<unsigned, 2>> operands, users;
  /// The barrier that an op waits for at its level, -1 if none.
  std::vector<int> sources;
  /// The last level of the first half.
  unsigned border = 0;
  int64_t peak = 0;
  std::vector<optimize::Availability> availability;
  /// Where kernels of the second half read a value, from memory or as what
  /// something is recomputed from.
  std::map<unsigned, std::set<Key>> readers;
  /// GEMMs that wait for others of their level, and those others.
  std::set<unsigned> delayed, waitedFor;
};

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_RECOMPUTATIONPLANNER_H
