//===- Extent.h - Stages and micro-batches of a table -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the rows of a table say about the pipeline: how many stages and
// micro-batches there are, and which rank executes each stage.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TIMELINE_EXTENT_H
#define WEFT_TIMELINE_EXTENT_H

#include "weft/Timeline/Table.h"

namespace weft::timeline {

struct Extent {
  int32_t stages = 0, microbatches = 0;
  /// Of a stage that no action names -1.
  Placement placement;
  /// Whether there are weight gradients of their own (W).
  bool splitsBackward = false;
};

/// Of a table in which every stage is on one rank (see findProblems).
Extent extentOf(const Table &table);

/// The actions that compute, in their order, as PyTorch writes a table before
/// it adds communication.
Table computeOnly(const Table &table);

/// With B in place of every I that its own W follows at once: one backward
/// pass does not keep what the two halves would. `0I0,0W0,0I1` becomes
/// `0B0,0I1`.
Table mergeBackward(const Table &table);

} // namespace weft::timeline

#endif // WEFT_TIMELINE_EXTENT_H
