//===- Simulation.h - Runs rows against each other --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the rows of a table against each other.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_TIMELINE_SIMULATION_H
#define WEFT_LIB_TIMELINE_SIMULATION_H

#include "weft/Timeline/Extent.h"
#include "weft/Timeline/Timing.h"

namespace weft::timeline {

class Simulation {
public:
  Simulation(const Table &table, const Costs &costs);

  /// Whether all rows came to their ends.
  bool run();

  /// What a rank that did not come to its end waits for: an F, or an I or a B.
  struct Wait {
    int32_t stage = 0, microbatch = 0;
    bool isForward = false;
  };
  struct Rank {
    /// How many of its actions ran.
    size_t next = 0;
    std::vector<Interval> intervals;
    std::optional<Wait> wait;
  };
  std::vector<Rank> ranks;
  const Extent extent;

private:
  size_t indexOf(int32_t stage, int32_t microbatch) const {
    return size_t(stage) * extent.microbatches + microbatch;
  }
  /// When the inputs of an action arrive at the rank; none while a producer did
  /// not run, which wakes the rank when it does.
  std::optional<double> arrival(const Action &action, int32_t rank);
  bool addInput(Wait input, int32_t rank, double &arrival);
  void record(const Action &action, double end);
  void advance(int32_t rank);

  struct Pass {
    double end = -1;
    int32_t waitingRank = -1;
  };
  const Table &table;
  const Costs &costs;
  /// By stage and micro-batch: forward and backward.
  std::vector<Pass> forwards, backwards;
  std::vector<int32_t> runnable;
};

} // namespace weft::timeline

#endif // WEFT_LIB_TIMELINE_SIMULATION_H
