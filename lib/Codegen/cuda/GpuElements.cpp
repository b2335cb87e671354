//===- GpuElements.cpp - Elements that do not depend on others ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuJobs.h"

using namespace mlir;
using namespace weft;

SmallVector<Value> weft::computeWrites(GpuJob &job, const ColumnLoop &loop) {
  return llvm::map_to_vector(loop.writes, [&](const KernelRoot &root) {
    return emitWritten(job.e, root);
  });
}

void weft::storeWrites(GpuJob &job, const ColumnLoop &loop,
                       ArrayRef<Value> values, Value valid) {
  if (values.empty())
    return;
  job.g.when(valid, [&] {
    for (auto [root, value] : llvm::zip_equal(loop.writes, values))
      job.e.store(value, job.results[root.result], job.e.position.ownElement);
  });
}

void weft::emitWrites(GpuJob &job, const ColumnLoop &loop) {
  storeWrites(job, loop, computeWrites(job, loop), Value());
}

/// The elements from `first` on, as many as a vector has.
static void emitElementsAt(GpuJob &job, Value first) {
  ElementEmitter &e = job.e;
  const ColumnLoop &loop = *job.grid.loop;
  int64_t rows = job.grid.nest->rows;
  LaneIndex zero = e.indices.constant(0);
  LaneIndex element = job.g.columnsAt(first);
  LaneIndex row = zero, column = element;
  if (loop.columns == 1)
    std::swap(row, column);
  else if (rows > 1)
    std::tie(row, column) = e.indices.split(element, loop.columns);
  e.position.row = row;
  setColumn(e, column);
  emitWrites(job, loop);
}

/// A thread has one vector, counted through all rows. Behind the last vector
/// there may be single numbers.
void weft::emitElements(GpuJob &job) {
  ElementEmitter &e = job.e;
  GpuBlock &g = job.g;
  int64_t elements = job.grid.nest->rows * job.grid.loop->columns;
  int64_t lanes = e.ops.width;
  int64_t vectors = elements / lanes, rest = elements % lanes;
  e.position.columns = job.grid.loop->columns;
  Value vector = g.add(g.multiply(g.block, g.threads), g.thread);
  Value valid;
  if (rest != 0 || vectors % g.threads != 0)
    valid = g.less(vector, g.number(vectors));
  g.when(valid, [&] { emitElementsAt(job, g.multiply(vector, lanes)); });
  if (rest == 0)
    return;
  // The threads behind those with vectors; before them the difference is a
  // large number.
  Value number = g.subtract(vector, g.number(vectors));
  e.ops.width = 1;
  g.when(g.less(number, g.number(rest)), [&] {
    emitElementsAt(job, g.add(number, g.number(vectors * lanes)));
  });
  e.ops.width = lanes;
}
