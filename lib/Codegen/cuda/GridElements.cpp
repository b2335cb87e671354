//===- GridElements.cpp - Jobs of elements that need no others ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridPlanner.h"

#include <numeric>

using namespace mlir;
using namespace weft;

/// Nothing of a nest without reductions depends on another of its loops.
void GridPlanner::addLoops(const KernelNest &nest) {
  SmallVector<const ColumnLoop *> loops = loopsOf(nest);
  // Many rows are walked each by threads of its own.
  if (nest.rows >= manyBlocks && !nest.blocked &&
      accumulationsOf(nest).empty() &&
      wantsEdges(nest, chooseLanes(nest.rows, loops),
                 wideLanes(nest.rows, loops)))
    return addRows(nest);
  for (const ColumnLoop &loop : nest.passes.front()) {
    GridJob job{JobKind::Elements, &nest, &loop};
    job.lanes = chooseLanes(nest.rows, &loop);
    // Without rows, what is left behind the last vector is no trouble.
    int64_t wide = wideLanes(nest.rows, &loop);
    if (nest.rows == 1 && loop.columns >= wide && loop.accumulations.empty())
      job.lanes = wide;
    if (!loop.accumulations.empty()) {
      job.kind = JobKind::ColumnSums;
    } else if (nest.blocked && nest.rows > 1 && loop.columns > 1) {
      // Four bytes a lane, whichever way it counts.
      job.kind = JobKind::Tiles;
      job.lanes = std::gcd(std::gcd(nest.rows, loop.columns),
                           std::max<int64_t>(wide / 4, 1));
    }
    plan.jobs.push_back(job);
  }
}

void GridPlanner::layElements(GridJob &job) {
  int64_t elements = job.nest->rows * job.loop->columns;
  // A vector that is not full at the end is of a thread more for each number.
  job.blocks = llvm::divideCeil(elements / job.lanes + elements % job.lanes,
                                plan.threads);
  if (job.kind == JobKind::Tiles)
    job.blocks = llvm::divideCeil(job.nest->rows, warpThreads * job.lanes) *
                 llvm::divideCeil(job.loop->columns, warpThreads * job.lanes);
}
