//===- StageCut.h - Where a chain is cut into stages ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a model that is a chain of regions into the stages of a schedule. The
// slowest stage holds up all others m - 1 times, so that it is made as fast as
// it can be (the dynamic program of Alpa's inter-operator pass, Zheng et al.
// 2022, for stages of equal devices); then cuts move as long as the exact
// timing of the schedule gets shorter, which knows where stages share a rank
// and what waits for what.
//
//   cutIntoStages(regions, table)   // {2, 5, 8}: stages of regions 0 and 1,
//                                   // 2 to 4, 5 to 7, and 8 on
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_STAGECUT_H
#define WEFT_TIMELINE_STAGECUT_H

#include "weft/Timeline/Timing.h"

#include <span>

namespace weft::timeline {

struct RegionCosts {
  /// Of one micro-batch. Activations are what is kept for the way back.
  StageCosts costs;
  /// How long the next region's input takes from rank to rank.
  double transfer = 0;
  /// A stage has at least one region that does.
  bool usesParameter = true;
};

/// The first regions of all stages but the first, ascending; each stage has at
/// least one region that uses a parameter. Empty if there are fewer of those
/// than stages of the table.
std::vector<int32_t> cutIntoStages(std::span<const RegionCosts> regions,
                                   const Table &table);

/// What the stages of a cut cost.
Costs costsOfCut(std::span<const RegionCosts> regions,
                 std::span<const int32_t> cuts);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_STAGECUT_H
