//===- GpuRowSums.cpp - Sums over the rows of reductions ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block adds up its rows, each thread its own columns, in registers where
// they fit. It leaves the sums in the workspace. The last block of each
// `sumFanIn` adds up theirs, and the last of these blocks does so again: two
// short sums in a row instead of a long one at the end of the kernel.

#include "GpuRows.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;

linalg::GenericOp RowSums::Entry::op() const {
  return root.value.getDefiningOp<linalg::GenericOp>();
}

RowSums::RowSums(GpuJob &job, RowsEmitter &rows)
    : job(job), e(job.e), g(job.g), rows(rows) {
  size_t next = 0;
  int64_t numbers = 0;
  for (auto &[loop, root] : accumulationsOf(*job.grid.nest)) {
    Entry entry{loop, root, bytes, next, 0};
    bytes += entry.bytes();
    bool isSingle = loop->columns == 1;
    if (isSingle || rows.isHeld(*loop)) {
      size_t steps = isSingle ? 1 : rows.partsOf(*loop).size();
      int64_t more = steps * (isSingle ? 1 : e.ops.width);
      if (numbers + more <= heldNumbers) {
        numbers += more;
        entry.count = steps;
        next += steps;
      }
    }
    entries.push_back(entry);
  }
}

void RowSums::emit() {
  SmallVector<CompensatedSum> sums;
  for (const Entry &entry : entries)
    sums.append(entry.count,
                g.neutral(entry.op(), /*lanes=*/entry.loop->columns > 1));
  g.loopSums(g.block, g.number(job.grid.nest->rows), job.grid.blocks, sums,
             [&](Value row, MutableArrayRef<CompensatedSum> next) {
               current = next;
               isFirst = arith::CmpIOp::create(
                   e.b, e.loc, arith::CmpIPredicate::eq, row, g.block);
               rows.emitRow(row, this);
               // Shared memory is written again for the next row.
               g.barrier();
             });
  finish(sums);
}

void RowSums::add(const ColumnLoop &loop, size_t step, Value valid) {
  for (const Entry &entry : entries) {
    if (entry.loop != &loop)
      continue;
    if (entry.count == 0) {
      addInMemory(entry, valid);
      continue;
    }
    CompensatedSum &sum = current[entry.first + step];
    sum = g.addPlace(entry.op(), sum);
  }
}

void RowSums::addInMemory(const Entry &entry, Value valid) {
  g.when(valid, [&] {
    Value partial = partialOf(g.block, entry);
    CompensatedSum before =
        g.load(entry.op(), partial, entry.bytes(), e.position.column);
    CompensatedSum none = g.neutral(entry.op(), LaneOps::isLanes(before.sum));
    CompensatedSum sum = g.select(isFirst, none, before);
    g.store(g.addPlace(entry.op(), sum), partial, entry.bytes(),
            e.position.column);
  });
}

/// Where part `part` of the sums is: the blocks' own, then sums of them.
Value RowSums::partialOf(Value part, const Entry &entry) {
  return g.workspaceAt(g.add(g.multiply(part, bytes),
                             g.number(job.grid.partials + entry.offset)));
}

/// Moves what is in registers to the workspace.
void RowSums::leave(const Entry &entry, ArrayRef<CompensatedSum> sums) {
  Value partial = partialOf(g.block, entry);
  if (entry.loop->columns == 1) {
    g.when(g.equals(g.thread, 0), [&] {
      g.store(sums[0], partial, entry.bytes(), e.indices.constant(0));
    });
    return;
  }
  for (auto [sum, part] : llvm::zip_equal(sums, rows.partsOf(*entry.loop)))
    g.when(part.valid, [&, sum = sum, column = part.column] {
      g.store(sum, partial, entry.bytes(), column);
    });
}

void RowSums::finish(ArrayRef<CompensatedSum> sums) {
  for (const Entry &entry : entries)
    if (entry.count > 0)
      leave(entry, sums.slice(entry.first, entry.count));
  int64_t blocks = job.grid.blocks, counter = job.grid.counter;
  Value zero = g.number(0);
  if (blocks == 1) // a thread reads what it has written
    return addPartials(zero, 1, Value());
  if (blocks <= sumFanIn)
    return g.when(g.arriveLast(g.number(counter), blocks),
                  [&] { addPartials(zero, blocks, Value()); });
  int64_t groups = blocks / sumFanIn;
  Value group = g.divide(g.block, sumFanIn);
  g.when(g.arriveLast(g.add(group, g.number(counter)), sumFanIn), [&] {
    addPartials(g.multiply(group, sumFanIn), sumFanIn,
                g.add(group, g.number(blocks)));
    g.when(g.arriveLast(g.number(counter + groups), groups),
           [&] { addPartials(g.number(blocks), groups, Value()); });
  });
}

/// Adds up parts of all sums: to part `target`, or to the results.
void RowSums::addPartials(Value first, int64_t count, Value target) {
  for (const Entry &entry : entries) {
    if (entry.loop->columns == 1) {
      g.when(g.equals(g.thread, 0), [&] {
        addPartials(entry, e.indices.constant(0), first, count, target);
      });
      continue;
    }
    int64_t lanes = e.ops.width;
    g.loop(g.multiply(g.thread, lanes), g.number(entry.loop->columns),
           g.threads * lanes, {}, [&](Value at, MutableArrayRef<Value>) {
             addPartials(entry, g.columnsAt(at), first, count, target);
           });
  }
}

void RowSums::addPartials(const Entry &entry, LaneIndex column, Value first,
                          int64_t count, Value target) {
  CompensatedSum sum[] = {g.neutral(entry.op(), /*lanes=*/!column.isUniform())};
  g.loopSums(g.number(0), g.number(count), 1, sum,
             [&](Value part, MutableArrayRef<CompensatedSum> next) {
               Value partial = partialOf(g.add(first, part), entry);
               next[0] = g.combine(
                   entry.op(), next[0],
                   g.load(entry.op(), partial, entry.bytes(), column));
             });
  if (target) {
    g.store(sum[0], partialOf(target, entry), entry.bytes(), column);
    return;
  }
  e.position.columns = entry.loop->columns;
  e.position.column = column;
  Value init = emitColumnInit(e, entry.root);
  Value total = g.finish(entry.op(), init, sum[0]);
  e.store(emitFinished(e, entry.root, total), job.results[entry.root.result],
          column);
}
