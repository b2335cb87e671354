//===- RowColumns.cpp - The columns of a thread in a row ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowColumns.h"

using namespace mlir;
using namespace weft;

RowColumns::RowColumns(GpuJob &job, int64_t columns, Value member,
                       int64_t together, Value row)
    : job(job), e(job.e), g(job.g), columns(columns), lanes(job.grid.lanes),
      member(member), together(together), hasEdges(job.grid.hasEdges) {
  if (!hasEdges)
    return;
  start = g.multiply(row, columns);
  Value behind = g.remainder(start, lanes);
  head = g.remainder(g.subtract(g.number(lanes), behind), lanes);
}

Value RowColumns::vectors() {
  if (!hasEdges)
    return g.number(columns / lanes);
  return g.divide(g.subtract(g.number(columns), head), lanes);
}

int64_t RowColumns::leastVectors() const {
  return hasEdges ? (columns - lanes + 1) / lanes : columns / lanes;
}

std::optional<RowColumns::Part> RowColumns::edge() {
  if (!hasEdges)
    return std::nullopt;
  Value inside = g.multiply(vectors(), lanes);
  Value count = g.subtract(g.number(columns), inside);
  Value isHead = g.less(member, head);
  Part part;
  part.isEdge = true;
  part.valid = g.less(member, count);
  Value column = e.ops.select(isHead, member, g.add(member, inside));
  // A thread without one looks at the first column.
  column = e.ops.select(part.valid, column, g.number(0));
  part.column = e.indices.uniform(column);
  int64_t behind = columns / lanes * lanes;
  part.kept = e.indices.uniform(g.add(member, g.number(behind)));
  return part;
}

RowColumns::Part RowColumns::vector(Value vector) {
  Part part;
  Value base = g.multiply(vector, lanes);
  part.kept = g.columnsAt(base);
  if (!hasEdges) {
    part.column = part.kept;
    return part;
  }
  base = g.add(base, head);
  bool isOnlyRow = job.grid.nest->rows == 1;
  part.column = {base, 1, {}, isOnlyRow ? lanes : 1};
  if (!isOnlyRow)
    part.own = g.columnsAt(g.add(start, base));
  return part;
}

/// A vector beyond the last one is moved, so that it can be loaded, and is not
/// valid: the first vector of the thread to the last one, and later vectors,
/// which there are only if each thread has one, to the first.
RowColumns::Part RowColumns::vectorAt(int64_t step) {
  int64_t first = step * together;
  Value own = g.add(member, g.number(first)), valid;
  if (first + together > leastVectors()) {
    Value count = vectors();
    valid = g.less(own, count);
    Value instead = first == 0 ? g.subtract(count, g.number(1)) : member;
    own = e.ops.select(valid, own, instead);
  }
  Part part = vector(own);
  part.valid = valid;
  return part;
}

void RowColumns::enter(const Part &part) {
  if (part.own.base)
    e.indices.declareJoin(e.position.row, part.column, columns, part.own);
  e.ops.width = part.isEdge ? 1 : lanes;
  setColumn(e, part.column);
  e.position.keptAt = part.kept;
}
