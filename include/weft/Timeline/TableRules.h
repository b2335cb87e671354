//===- TableRules.h - What a table must have --------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a table of compute actions describes a step: what a schedule that
// someone writes by hand may get wrong. Whether its communication can deadlock
// is a matter of its own.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_TABLERULES_H
#define WEFT_TIMELINE_TABLERULES_H

#include "weft/Timeline/Table.h"

namespace weft::timeline {

/// All that is wrong with a table, each with the row (from 1), the action and
/// what to do about it:
///   row 2: 1B0 stands before 1F0, which it needs; move it behind
/// Sends, receives, gathers and reductions are ignored; what is once a step
/// (P and U) does not belong in a table that someone writes.
std::vector<std::string> findProblems(const Table &table);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_TABLERULES_H
