//===- LocalSearch.h - Moves single actions ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes a table faster by moving single actions.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_TIMELINE_LOCALSEARCH_H
#define WEFT_LIB_TIMELINE_LOCALSEARCH_H

#include "weft/Timeline/Timing.h"

namespace weft::timeline {

/// The table, or a faster one of the same actions in which no rank keeps more
/// activations than `limit`. Takes about as long as the simulation of `work`
/// actions.
///
/// Only actions on a critical path matter: a chain of actions that follow each
/// other without a gap, through inputs and through ranks, from the start to the
/// end of the step. In a part of it that is on one rank an action is moved to
/// the front or to the back of the part; whatever makes the step shorter stays.
Table improveTable(Table table, const Costs &costs, double limit, int64_t work);

} // namespace weft::timeline

#endif // WEFT_LIB_TIMELINE_LOCALSEARCH_H
