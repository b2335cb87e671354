//===- ListScheduler.h - Tables by list scheduling --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes a table by running the pipeline: whenever a rank is free it starts the
// best of the actions whose inputs have arrived, within its memory.
//
// Each rank has its forwards in an order that is given; input gradients go in
// the order of the micro-batches of each stage, weight gradients fill the gaps.
// If some table has these forwards in this order, keeps the limits, and runs to
// its end, then so does the table that is made: whatever that one runs before a
// forward can run before it here too, for neither input nor weight gradients
// take memory.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_TIMELINE_LISTSCHEDULER_H
#define WEFT_LIB_TIMELINE_LISTSCHEDULER_H

#include "weft/Timeline/Timing.h"

namespace weft::timeline {

struct ListPolicy {
  /// The most memory of activations that the rank keeps.
  double limit = 0;
  /// What goes first where a forward and an input gradient could start.
  enum class Prefer : uint8_t {
    InputGradient,
    Forward,
    Other
  } prefer = Prefer::InputGradient;
  /// A weight gradient starts in a gap only if this part of it is over before
  /// the next input that is known to arrive: with 0 whenever the rank is idle,
  /// with 1 only where it delays nothing.
  double patience = 0;
};

struct ListProblem {
  Placement placement;
  int32_t microbatches = 1;
  const Costs *costs = nullptr;
  /// By rank: its forwards in order, and how it chooses.
  std::vector<Row> forwards;
  std::vector<ListPolicy> policies;
};

/// No table if the forwards cannot be run in their order within the limits.
std::optional<Table> scheduleList(const ListProblem &problem);

} // namespace weft::timeline

#endif // WEFT_LIB_TIMELINE_LISTSCHEDULER_H
