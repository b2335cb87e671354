//===- RecomputationPlan.h - What kernels recompute -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the most bytes are alive a block is cut in two, between two levels of
// kernel fusion. Of what the first half computes for the second, some values
// are kept, and the others recomputed from them by the kernels that use them.
//
// Example: a GEMM gives %x, a kernel %h = %x * tanh(%x) for the next GEMM. Its
// backward pass reads %x, tanh(%x) and %h. Only %x is kept: the kernel that
// multiplies by the derivative recomputes the tanh, and writes %h once more for
// the GEMM that makes the gradient of a weight.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_RECOMPUTATIONPLAN_H
#define WEFT_LIB_SCHEDULE_RECOMPUTATIONPLAN_H

#include "BlockGraph.h"

#include "weft/Cost/CostModel.h"
#include "weft/Optimize/KeptValues.h"

#include <map>
#include <set>

namespace weft {

/// What the ops of one level recompute that wait for the same barrier.
struct RecomputationGroup {
  unsigned level = 0;
  /// Nothing is recomputed before this op; none if nothing is waited for.
  std::optional<unsigned> source;
  /// What is recomputed, in order, and what that is made of.
  std::set<unsigned> values, leaves;
  /// By op: which operands it gets from here.
  std::map<unsigned, std::set<unsigned>> uses;
  /// Whether it is one kernel more: no other at its level reads what it does.
  bool isAlone = false;
};

struct RecomputationPlan {
  std::vector<RecomputationGroup> groups;
  /// Bytes alive at the peak, before and after.
  int64_t before = 0, after = 0;
  /// What kernels take longer, or less if it is negative.
  double seconds = 0;
};

/// The plan for the peak of a block; nothing if none lowers it in the time
/// given. If it recomputes only large values, those of at least half the bytes
/// of the largest one that can be, kernels of norms stay as they are.
std::optional<RecomputationPlan> planRecomputation(const BlockGraph &graph,
                                                   const cost::CostModel &model,
                                                   double mostSeconds,
                                                   bool onlyLarge);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_RECOMPUTATIONPLAN_H
