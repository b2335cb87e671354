//===- ListSearch.h - Looks for good list schedules -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks for what the list scheduler should be told.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_TIMELINE_LISTSEARCH_H
#define WEFT_LIB_TIMELINE_LISTSEARCH_H

#include "ListScheduler.h"

namespace weft::timeline {

/// A table with what decides between tables.
struct RatedTable {
  Table table;
  double makespan = 0, peak = 0;
};
/// Shorter, or as short in less memory.
bool isBetter(const RatedTable &a, const RatedTable &b);
std::optional<RatedTable> rateTable(Table table, const Costs &costs);

/// Changes the problem a little, again and again, and keeps what makes the
/// step no longer: how a rank chooses, how much memory it uses of the
/// limit, and the order of two of its forwards. Stops at `goal`, after `trials`
/// tables, or after `work` actions, which it lowers.
RatedTable searchLists(ListProblem problem, RatedTable start, double limit,
                       double goal, int64_t trials, int64_t &work);

} // namespace weft::timeline

#endif // WEFT_LIB_TIMELINE_LISTSEARCH_H
