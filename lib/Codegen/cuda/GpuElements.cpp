//===- GpuElements.cpp - Elements that do not depend on others ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuJobs.h"

using namespace mlir;
using namespace weft;

void weft::emitWrites(GpuJob &job, const ColumnLoop &loop, Value valid,
                      llvm::function_ref<void()> beforeStores) {
  ElementEmitter &e = job.e;
  SmallVector<Value> values;
  for (const KernelRoot &root : loop.writes)
    values.push_back(emitWritten(e, root, job.grid.nest->rows));
  if (values.empty())
    return;
  beforeStores();
  job.g.when(valid, [&] {
    for (auto [root, value] : llvm::zip_equal(loop.writes, values))
      e.store(value, job.results[root.result], e.ownElement);
  });
}

/// A thread has one vector, counted through all rows.
void weft::emitElements(GpuJob &job) {
  ElementEmitter &e = job.e;
  GpuBlock &g = job.g;
  const ColumnLoop &loop = *job.grid.loop;
  int64_t rows = job.grid.nest->rows;
  int64_t vectors = rows * loop.columns / e.ops.width;
  e.place.columns = loop.columns;
  Value vector = g.add(g.multiply(g.block, g.threads), g.thread);
  Value valid;
  if (vectors % g.threads != 0)
    valid = g.less(vector, g.number(vectors));
  g.when(valid, [&] {
    LaneIndex zero = e.indices.constant(0);
    LaneIndex element = g.columnsAt(g.multiply(vector, e.ops.width));
    LaneIndex row = zero, column = element;
    if (loop.columns == 1)
      std::swap(row, column);
    else if (rows > 1)
      std::tie(row, column) = e.indices.split(element, loop.columns);
    e.row = row;
    setColumn(e, column, rows);
    emitWrites(job, loop, Value());
  });
}

/// A warp writes 32 columns of a row. What it reads across rows are pieces of
/// cache lines, which the rows of the same square use up.
void weft::emitTiles(GpuJob &job) {
  ElementEmitter &e = job.e;
  GpuBlock &g = job.g;
  const ColumnLoop &loop = *job.grid.loop;
  int64_t rows = job.grid.nest->rows;
  int64_t tilesOfRow = llvm::divideCeil(loop.columns, warpThreads);
  e.place.columns = loop.columns;
  Value top = g.multiply(g.divide(g.block, tilesOfRow), warpThreads);
  Value left = g.multiply(g.remainder(g.block, tilesOfRow), warpThreads);
  Value column = g.add(left, g.lane);
  g.when(g.less(column, g.number(loop.columns)), [&] {
    Value limit = g.smaller(g.add(top, g.number(warpThreads)), rows);
    g.loop(g.add(top, g.warp), limit, g.threads / warpThreads, {},
           [&](Value row, MutableArrayRef<Value>) {
             e.row = e.indices.uniform(row);
             setColumn(e, g.columnsAt(column), rows);
             emitWrites(job, loop, Value());
           });
  });
}
