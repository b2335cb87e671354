//===- GridColumnSums.cpp - Jobs of sums over rows ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridPlanner.h"

using namespace mlir;
using namespace weft;

void GridPlanner::layColumnSums(GridJob &job) {
  // In shared memory each thread has a vector for each sum.
  constexpr int64_t sharedBytes = 40 * 1024;
  auto bytesOf = [&](int64_t lanes) {
    int64_t sum = 0;
    for (const KernelRoot &root : job.loop->accumulations)
      sum += partialBytes(root, plan.threads * lanes);
    return sum;
  };
  while (job.lanes > 1 && bytesOf(job.lanes) > sharedBytes)
    job.lanes /= 2;
  int64_t vectors = job.loop->columns / job.lanes;
  job.rowThreads = std::min<int64_t>(warpThreads, llvm::PowerOf2Ceil(vectors));
  job.tiles = llvm::divideCeil(vectors, job.rowThreads);
  int64_t rowsAtOnce = plan.threads / job.rowThreads;
  int64_t useful = llvm::divideCeil(job.nest->rows, rowsAtOnce * 4);
  job.sharers =
      std::min<int64_t>(useful, llvm::divideCeil(manyBlocks, job.tiles));
  if (!hasCounters(job.tiles))
    job.sharers = 1;
  job.blocks = job.tiles * job.sharers;
  if (job.sharers == 1)
    return;
  int64_t bytes = 0;
  for (const KernelRoot &root : job.loop->accumulations)
    bytes += partialBytes(root, job.rowThreads * job.lanes);
  reserve(job, job.tiles, job.blocks * bytes);
}
