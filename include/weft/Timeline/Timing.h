//===- Timing.h - When the actions of a table run ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When every action of a table starts and ends, and what follows from it.
//
// A rank runs its row in order. An action starts when the rank is free and its
// inputs have arrived; an input from another rank arrives a transfer time after
// its producer ended, however many others travel. An overlapped pair is one
// action, which needs the inputs of both.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_TIMING_H
#define WEFT_TIMELINE_TIMING_H

#include "weft/Timeline/Table.h"

#include <optional>

namespace weft::timeline {

/// What one micro-batch costs in one stage. A backward pass (B) takes the time
/// of its two halves.
struct StageCosts {
  double forward = 1, inputGradient = 1, weightGradient = 1;
  /// Of a forward that overlaps a backward pass, both together; as long as one
  /// after the other unless given.
  std::optional<double> overlapped;
  /// Memory from the forward to the backward pass or the weight gradient.
  double activation = 1;
  /// Memory besides from the input gradient to the weight gradient: cotangents,
  /// and what is recomputed.
  double betweenGradients = 0;
  /// Memory besides within a backward pass: what is recomputed.
  double recomputed = 0;

  double backward() const { return inputGradient + weightGradient; }
  bool operator==(const StageCosts &) const = default;
};

struct Costs {
  std::vector<StageCosts> stages;
  /// From the end of an action to the start of its consumer on another rank.
  double transfer = 0;
};

/// The costs when the same model is cut into `stages` stages: all of them are
/// spread evenly over the stages that they are given for. Of 2 stages that take
/// 1 and 3, 4 stages take 0.5, 0.5, 1.5 and 1.5.
Costs recut(const Costs &costs, int32_t stages);

/// The memory of micro-batches that a rank keeps, action by action.
class KeptMemory {
public:
  explicit KeptMemory(const Costs &costs) : costs(costs) {}

  /// Of the next action: the most that is kept while it runs.
  double run(const Action &action);

private:
  const Costs &costs;
  double kept = 0;
};

struct Interval {
  double start = 0, end = 0;
};

struct RankTiming {
  /// Of its first and last action.
  double start = 0, end = 0;
  double busy = 0;
  /// Memory of activations at its peak, and how many micro-batches of stages
  /// that is.
  double peak = 0;
  int32_t peakSlots = 0;

  /// Idle from its first to its last action.
  double wait() const { return end - start - busy; }
};

struct Timing {
  /// As the rows of the table; both actions of an overlapped pair have the
  /// interval of the pair.
  std::vector<std::vector<Interval>> rows;
  std::vector<RankTiming> ranks;
  double makespan = 0;

  /// Idle time of a rank in the step.
  double bubble(int32_t rank) const { return makespan - ranks[rank].busy; }
  double peak() const;
  /// Idle time as a fraction of the time that all ranks have: 0 to 1. That of a
  /// rank, and of all.
  double bubbleFraction(int32_t rank) const;
  double bubbleFraction() const;
};

/// Of a table of compute actions with costs for each of its stages. None if
/// ranks wait for each other in a circle (findProblems says where).
std::optional<Timing> timeTable(const Table &table, const Costs &costs);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_TIMING_H
