//===- GridSplitRows.cpp - Jobs of few long rows --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridPlanner.h"

using namespace mlir;
using namespace weft;

bool GridPlanner::canSplitRows(const KernelNest &nest) {
  if (nest.rows > 64 || !accumulationsOf(nest).empty() ||
      nest.passes.front().size() != 1 ||
      nest.passes.front().front().columns < 8192)
    return false;
  // What needs the sums is done by one block.
  if (nest.reductions.empty())
    return false;
  return llvm::all_of(ArrayRef(nest.passes).drop_front(), [](const auto &pass) {
    return llvm::all_of(
        pass, [](const ColumnLoop &loop) { return loop.columns == 1; });
  });
}

void GridPlanner::laySplitRows(GridJob &job) {
  int64_t columns = job.nest->passes.front().front().columns;
  int64_t useful = columns / (plan.threads * job.lanes * 4);
  job.rowThreads = plan.threads;
  job.sharers = std::clamp<int64_t>(
      useful, 1, llvm::divideCeil(manyBlocks, job.nest->rows));
  if (!hasCounters(job.nest->rows))
    job.sharers = 1;
  job.blocks = job.nest->rows * job.sharers;
  if (job.sharers == 1)
    return;
  reserve(job, job.nest->rows,
          job.blocks * job.nest->reductions.size() * sumBytes);
}
