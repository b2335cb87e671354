//===- GridScatter.cpp - Jobs of scatter_add ------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridPlanner.h"

#include <numeric>

using namespace mlir;
using namespace weft;

int64_t weft::countScatterRowDims(Operation *op) {
  GatherDims dims = cast<ScatterAddOp>(op).getGatherDims();
  int64_t count = dims.dim;
  for (int64_t takenDim : dims.getTakenDimsOfIndices())
    count = std::max(count, takenDim + 1);
  return count;
}

void GridPlanner::addScatter(const KernelNest &nest) {
  auto op = nest.scatter->value.getDefiningOp<ScatterAddOp>();
  ArrayRef<int64_t> taken = op.getUpdates().getType().getShape();
  int64_t columns = llvm::product_of(taken.drop_front(countScatterRowDims(op)));
  int64_t bytes = widestBytes(op.getUpdates(), columns, /*atLeast=*/1);
  GridJob job{JobKind::Scatter, &nest};
  job.lanes = std::gcd(
      columns, vectorBytes / std::max(bytes, elementBytes(op.getResult())));
  plan.jobs.push_back(job);
}

void GridPlanner::layScatter(GridJob &job) {
  auto op = job.nest->scatter->value.getDefiningOp<ScatterAddOp>();
  ArrayRef<int64_t> taken = op.getUpdates().getType().getShape();
  int64_t columns = llvm::product_of(taken.drop_front(countScatterRowDims(op)));
  int64_t rows = columns == 0 ? 0 : op.getType().getNumElements() / columns;
  job.tiles = llvm::divideCeil(columns, warpThreads * job.lanes);
  // A warp looks at all indices: few enough that this does not count.
  constexpr int64_t mostWarps = 4096;
  job.ownedRows =
      std::max<int64_t>(1, llvm::divideCeil(rows * job.tiles, mostWarps));
  int64_t warps = llvm::divideCeil(rows, job.ownedRows) * job.tiles;
  job.blocks = llvm::divideCeil(warps, plan.threads / warpThreads);
}
