//===- BreadthFirst.cpp - GPipe and looped BFS ----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generators.h"

namespace weft::timeline {

Table gpipe(ScheduleSize size) {
  Table table;
  for (int32_t rank = 0; rank < size.ranks; ++rank) {
    Row &row = table.rows.emplace_back();
    for (ActionKind kind : {ActionKind::Forward, ActionKind::Backward})
      for (int32_t i = 0; i < size.microbatches; ++i)
        row.push_back({rank, kind, i});
  }
  return table;
}

Table loopedBreadthFirst(ScheduleSize size) {
  Table table;
  for (int32_t rank = 0; rank < size.ranks; ++rank) {
    Row &row = table.rows.emplace_back();
    for (int32_t chunk = 0; chunk < size.chunks; ++chunk)
      for (int32_t i = 0; i < size.microbatches; ++i)
        row.push_back({chunk * size.ranks + rank, ActionKind::Forward, i});
    // All that the forwards did, in reverse.
    for (size_t i = row.size(); i-- > 0;)
      row.push_back({row[i].stage, ActionKind::Backward, row[i].microbatch});
  }
  return table;
}

} // namespace weft::timeline
