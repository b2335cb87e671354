//===- GridPlan.cpp - How a kernel is laid out on a GPU -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../CompensatedSum.h"
#include "GridPlanner.h"

using namespace mlir;
using namespace weft;

int64_t weft::countSteps(int64_t columns, int64_t threads, int64_t lanes) {
  return llvm::divideCeil(columns, threads * lanes);
}

std::vector<std::pair<const ColumnLoop *, KernelRoot>>
weft::accumulationsOf(const KernelNest &nest) {
  std::vector<std::pair<const ColumnLoop *, KernelRoot>> found;
  for (const auto &pass : nest.passes)
    for (const ColumnLoop &loop : pass)
      for (const KernelRoot &root : loop.accumulations)
        found.push_back({&loop, root});
  return found;
}

bool GridJob::hasAccumulations() const {
  return !accumulationsOf(*nest).empty();
}

int64_t weft::partialBytes(const KernelRoot &accumulation, int64_t columns) {
  auto op = accumulation.value.getDefiningOp<linalg::GenericOp>();
  return llvm::alignTo(columns * elementBytes(accumulation.value), 64) *
         (isCompensated(op) ? 2 : 1);
}

void GridPlanner::reserve(GridJob &job, int64_t count, int64_t bytes) {
  job.counter = counters;
  counters += count;
  if (plan.workspaceBytes == 0)
    plan.workspaceBytes = counterCount * counterBytes;
  job.partials = plan.workspaceBytes;
  plan.workspaceBytes += llvm::alignTo(bytes, 64);
}

void GridPlanner::run() {
  for (const KernelNest &nest : plan.kernel.nests) {
    if (nest.scatter)
      addScatter(nest);
    else if (nest.reductions.empty())
      addLoops(nest);
    else
      addRows(nest);
  }
  if (wantedThreads > 0)
    plan.threads = wantedThreads;
  for (GridJob &job : plan.jobs) {
    switch (job.kind) {
    case JobKind::Elements:
    case JobKind::Tiles:
      layElements(job);
      break;
    case JobKind::ColumnSums:
      layColumnSums(job);
      break;
    case JobKind::Rows:
      layRows(job);
      break;
    case JobKind::SplitRows:
      laySplitRows(job);
      break;
    case JobKind::Scatter:
      layScatter(job);
      break;
    }
    job.firstBlock = plan.blocks;
    plan.blocks += job.blocks;
  }
}

GridPlan weft::planGrid(KernelPlan kernel, int64_t sharedBytes) {
  GridPlan plan;
  plan.kernel = std::move(kernel);
  GridPlanner(plan, sharedBytes).run();
  // A grid has a block, also where all results are empty.
  plan.blocks = std::max<int64_t>(plan.blocks, 1);
  return plan;
}
