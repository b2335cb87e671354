//===- DualPipeV.cpp - DualPipeV ------------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generators.h"

#include "RowWriter.h"

namespace weft::timeline {

/// The steps are numbered as in DeepSeek's description of the schedule.
static Row writeRow(ScheduleSize size, int32_t rank) {
  const int32_t ranks = size.ranks;
  const int32_t down = rank, up = 2 * ranks - 1 - rank;
  const int32_t after = ranks - 1 - rank; // ranks between here and the turn
  RowWriter row;
  for (int32_t i = 0; i < 2 * after; ++i) // 1
    row.add(down, ActionKind::Forward);
  for (int32_t i = 0; i < rank + 1; ++i) { // 2
    row.add(down, ActionKind::Forward);
    row.add(up, ActionKind::Forward);
  }
  for (int32_t i = 0; i < after; ++i) { // 3
    row.add(up, ActionKind::InputGradient);
    row.addWeightGradient();
    row.add(up, ActionKind::Forward);
  }
  for (int32_t i = 0; i < size.microbatches - 2 * ranks + rank + 1; ++i) { // 4
    if (i == 0 && after == 0) {
      // Together they would delay the last rank, which has the turn.
      row.add(down, ActionKind::Forward);
      row.add(up, ActionKind::Backward);
    } else {
      row.addPair(down, up);
    }
    row.addPair(up, down);
  }
  for (int32_t i = 0; i < after; ++i) { // 5
    row.add(up, ActionKind::Backward);
    row.addPair(up, down);
  }
  // From the middle of step 6 on weight gradients wait for the end.
  const int32_t middle = (rank + 1) / 2;
  const bool splitsUp = rank % 2 == 1;
  const auto backward = [](bool splits) {
    return splits ? ActionKind::InputGradient : ActionKind::Backward;
  };
  for (int32_t i = 0; i < rank + 1; ++i) { // 6
    row.add(up, backward(i > middle || (i == middle && splitsUp)));
    row.add(down, backward(i >= middle));
  }
  for (int32_t i = 0; i < after; ++i) { // 7
    row.addWeightGradient();
    row.add(down, ActionKind::InputGradient);
  }
  for (int32_t i = 0; i < rank + 1; ++i) // 8
    row.addWeightGradient();
  return row.take();
}

Table dualPipeV(ScheduleSize size) {
  Table table;
  for (int32_t rank = 0; rank < size.ranks; ++rank)
    table.rows.push_back(writeRow(size, rank));
  return table;
}

} // namespace weft::timeline
