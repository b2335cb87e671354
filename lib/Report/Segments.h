//===- Segments.h - What ranks execute in a call of an entry ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_REPORT_SEGMENTS_H
#define WEFT_LIB_REPORT_SEGMENTS_H

#include "weft/Timeline/Table.h"
#include "weft/runtime/plan_generated.h"

#include <optional>
#include <vector>

namespace weft {

/// Instructions that are executed one after the other: those of an entry, or of
/// a segment of its pipeline.
struct Segment {
  const plan::Entry *entry = nullptr;
  /// How often in a call.
  uint64_t times = 0;
  /// Of a pipeline: what it does for micro-batch 0, or once a step. None if its
  /// name does not say: "step.2F", "step.0U1".
  std::optional<timeline::Action> action;

  uint32_t role() const { return entry->role().value_or(0); }
};

/// The entry itself, or the segments that its rows run, role by role and in the
/// order of their first run.
std::vector<Segment> findSegments(const plan::Plan &plan,
                                  const plan::Entry &entry);

/// The states of micro-batches that an action of a role reads or writes.
std::vector<const plan::State *> statesOf(const plan::Plan &plan,
                                          const plan::Timeline &timeline,
                                          const plan::Action &action,
                                          uint32_t role);

/// For each instruction how often a call executes it: more than once in a loop.
std::vector<uint64_t> countExecutions(const plan::Entry &entry);

} // namespace weft

#endif // WEFT_LIB_REPORT_SEGMENTS_H
