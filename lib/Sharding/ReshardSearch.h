//===- ReshardSearch.h - Shortest path over placements ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SHARDING_RESHARDSEARCH_H
#define WEFT_LIB_SHARDING_RESHARDSEARCH_H

#include "ReshardMoves.h"

#include "weft/Sharding/ReshardPlanner.h"

#include <compare>

namespace weft::sharding {

/// What a path is judged by, in this order. Time is in picoseconds: integers
/// add up to the same sum in any order.
struct PathCost {
  int64_t picoseconds = 0;
  int32_t collectives = 0;
  int32_t steps = 0;

  auto operator<=>(const PathCost &other) const = default;
  PathCost operator+(const PathCost &other) const {
    return {picoseconds + other.picoseconds, collectives + other.collectives,
            steps + other.steps};
  }
};

int64_t toPicoseconds(double seconds);
PathCost costOf(const DigitProblem &problem, const DigitLayout &layout,
                const DigitMove &move);
PathCost costOf(const DigitProblem &problem, llvm::ArrayRef<DigitMove> moves);

/// The cheapest moves from `problem.from` to `problem.to` if they cost less
/// than `bound`. None if there are none, or if they were not found within a
/// fixed number of visits (only with many digits).
std::optional<llvm::SmallVector<DigitMove, 4>>
searchMoves(const DigitProblem &problem, const PathCost &bound,
            PlanEffort effort);

} // namespace weft::sharding

#endif // WEFT_LIB_SHARDING_RESHARDSEARCH_H
