//===- GpuRows.cpp - Reductions of rows -----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes over a row, by the threads of a warp or of a block. Thread t has
// vectors t, t + threads, ... of the columns in every pass. Where they are few,
// all passes are straight-line code: the element emitter then finds in one pass
// what an earlier one has loaded or computed, and the row stays in registers.

#include "GpuRows.h"

using namespace mlir;
using namespace weft;

RowsEmitter::RowsEmitter(GpuJob &job)
    : job(job), e(job.e), g(job.g), nest(*job.grid.nest),
      together(job.grid.rowThreads), isWarp(together < g.threads),
      member(isWarp ? g.remainder(g.thread, together) : g.thread) {
  // Here, where they dominate all passes.
  for (const auto &pass : nest.passes)
    for (const ColumnLoop &loop : pass)
      if (isHeld(loop) && !held.count(loop.columns))
        held[loop.columns] = makeColumns(loop.columns);
}

bool RowsEmitter::isHeld(const ColumnLoop &loop) const {
  if (job.grid.kind == JobKind::SplitRows || loop.columns == 1)
    return false;
  int64_t lanes = e.ops.width;
  return countSteps(loop.columns, together, lanes) * lanes <= heldNumbers;
}

/// The vectors of a thread. One beyond the last column is moved, so that it can
/// be loaded, and is not valid: to the first vector, which is the thread's own,
/// or, if that is beyond it, to the last one.
std::vector<RowsEmitter::Columns> RowsEmitter::makeColumns(int64_t columns) {
  std::vector<Columns> made;
  int64_t lanes = e.ops.width, step = together * lanes;
  Value first = g.multiply(member, lanes);
  for (int64_t start = 0; start < columns; start += step) {
    Value base = start == 0 ? first : g.add(first, g.number(start)), valid;
    if (start + step > columns) {
      valid = g.less(base, g.number(columns));
      base = start == 0 ? g.smaller(base, columns - lanes)
                        : e.ops.select(valid, base, first);
    }
    made.push_back({g.columnsAt(base), valid});
  }
  return made;
}

void RowsEmitter::setRow(Value row) {
  e.row = nest.rows == 1 ? e.indices.constant(0) : e.indices.uniform(row);
  e.rowValues.clear();
}

void RowsEmitter::emitPass(unsigned number, RowSums *sums) {
  e.place.pass = number;
  std::vector<OpenSum> open;
  for (const ColumnLoop &loop : nest.passes[number]) {
    e.place.columns = loop.columns;
    e.ownElement = {};
    if (loop.columns == 1)
      emitSingle(loop, sums);
    else if (isHeld(loop))
      emitHeld(loop, open, sums);
    else
      emitWalk(loop, open, sums);
  }
  addThreads(open);
  closeSums(open);
}

/// Opens the row reductions of a loop.
MutableArrayRef<RowsEmitter::OpenSum>
RowsEmitter::openSums(const ColumnLoop &loop, std::vector<OpenSum> &open) {
  size_t before = open.size();
  for (linalg::GenericOp reduction : loop.reductions)
    open.push_back({reduction, emitRowInit(e, reduction),
                    g.neutral(reduction, /*lanes=*/true)});
  return MutableArrayRef(open).drop_front(before);
}

/// Adds up the shares of the threads, whose lanes are one number by now.
void RowsEmitter::addThreads(MutableArrayRef<OpenSum> open) {
  SmallVector<GpuBlock::Sum> sums;
  for (const OpenSum &sum : open)
    sums.push_back(
        {sum.reduction,
         LaneOps::isLanes(sum.value)
             ? e.ops.reduceLanes(getCombiner(sum.reduction), sum.value)
             : sum.value});
  if (isWarp)
    g.reduceWarps(sums, together);
  else
    g.reduceBlock(sums);
  for (auto [sum, total] : llvm::zip_equal(open, sums))
    sum.value = total.value;
}

/// Makes them numbers of the row, for the passes that follow.
void RowsEmitter::closeSums(ArrayRef<OpenSum> open) {
  for (const OpenSum &sum : open)
    known.push_back(
        {sum.reduction, g.combine(sum.reduction, sum.init, sum.value)});
  e.rowValues.insert(known.begin(), known.end());
  known.clear();
}

/// Others may not have read yet what the loop writes over.
void RowsEmitter::waitToOverwrite(const ColumnLoop &loop) {
  if (llvm::none_of(loop.writes, [&](const KernelRoot &root) {
        return job.inPlace[root.result] >= 0;
      }))
    return;
  if (isWarp)
    g.warpBarrier();
  else
    g.barrier();
}

/// One column: all threads know its numbers, one writes them.
void RowsEmitter::emitSingle(const ColumnLoop &loop, RowSums *sums) {
  setColumn(e, e.indices.constant(0), nest.rows);
  for (linalg::GenericOp reduction : loop.reductions)
    known.push_back({reduction, emitTerm(e, reduction, nest.rows,
                                         emitRowInit(e, reduction))});
  if (sums)
    sums->add(loop, /*step=*/0, g.equals(member, 0));
  if (loop.writes.empty())
    return;
  waitToOverwrite(loop);
  g.when(g.equals(member, 0), [&] { emitWrites(job, loop, Value()); });
}

void RowsEmitter::emitHeld(const ColumnLoop &loop, std::vector<OpenSum> &open,
                           RowSums *sums) {
  MutableArrayRef<OpenSum> own = openSums(loop, open);
  for (auto [step, columns] : llvm::enumerate(held[loop.columns])) {
    setColumn(e, columns.column, nest.rows);
    for (OpenSum &sum : own) {
      Value next = emitTerm(e, sum.reduction, nest.rows, sum.value);
      sum.value = e.ops.select(columns.valid, next, sum.value);
    }
    if (sums)
      sums->add(loop, step, columns.valid);
    bool hasBorrowed = step == 0 && columns.valid;
    emitWrites(job, loop, columns.valid, [&] {
      if (hasBorrowed)
        waitToOverwrite(loop);
    });
  }
}

void RowsEmitter::emitWalk(const ColumnLoop &loop, std::vector<OpenSum> &open,
                           RowSums *sums) {
  MutableArrayRef<OpenSum> own = openSums(loop, open);
  SmallVector<Value> carried;
  for (const OpenSum &sum : own)
    carried.push_back(sum.value);
  int64_t lanes = e.ops.width, step = together * lanes;
  Value first = g.multiply(member, lanes);
  if (job.grid.kind == JobKind::SplitRows) {
    Value part = g.remainder(g.block, job.grid.sharers);
    first = g.add(first, g.multiply(part, step));
    step *= job.grid.sharers;
  }
  g.loop(first, g.number(loop.columns), step, carried,
         [&](Value at, MutableArrayRef<Value> next) {
           setColumn(e, g.columnsAt(at), nest.rows);
           for (auto [sum, value] : llvm::zip_equal(own, next))
             value = emitTerm(e, sum.reduction, nest.rows, value);
           if (sums)
             sums->add(loop, /*step=*/0, Value());
           emitWrites(job, loop, Value());
         });
  for (auto [sum, value] : llvm::zip_equal(own, carried))
    sum.value = value;
}

void RowsEmitter::emitRow(Value row, RowSums *sums) {
  e.enterScope();
  setRow(row);
  for (unsigned pass = 0; pass < nest.passes.size(); ++pass)
    emitPass(pass, sums);
  e.leaveScope();
}

void RowsEmitter::emit() {
  if (job.grid.hasAccumulations()) {
    RowSums sums(job, *this);
    sums.emit();
    return;
  }
  int64_t rowsAtOnce = g.threads / together;
  Value row = g.block, valid;
  if (isWarp)
    row = g.add(g.multiply(row, rowsAtOnce), g.divide(g.thread, together));
  if (nest.rows % rowsAtOnce != 0)
    valid = g.less(row, g.number(nest.rows));
  g.when(valid, [&] { emitRow(row, nullptr); });
}

void weft::emitRows(GpuJob &job) { RowsEmitter(job).emit(); }

//===----------------------------------------------------------------------===//
// Several blocks a row
//===----------------------------------------------------------------------===//

/// The last block of a row adds up what all have left and goes on.
void RowsEmitter::emitSplit() {
  Value row = g.divide(g.block, job.grid.sharers);
  setRow(row);
  const ColumnLoop &loop = nest.passes.front().front();
  e.place.columns = loop.columns;
  std::vector<OpenSum> open;
  emitWalk(loop, open, nullptr);
  addThreads(open);
  auto finish = [&] {
    closeSums(open);
    for (unsigned pass = 1; pass < nest.passes.size(); ++pass)
      emitPass(pass, nullptr);
  };
  if (job.grid.sharers == 1)
    return finish();

  constexpr int64_t slotBytes = 8;
  auto slotOf = [&](Value block, unsigned number) {
    Value slot = g.add(g.multiply(block, open.size()), g.number(number));
    return g.workspaceAt(
        g.add(g.multiply(slot, slotBytes), g.number(job.grid.partials)));
  };
  LaneIndex zero = e.indices.constant(0);
  g.when(g.equals(g.thread, 0), [&] {
    for (auto [number, sum] : llvm::enumerate(open))
      e.store(sum.value, slotOf(g.block, number), zero);
  });
  Value counter = g.add(row, g.number(job.grid.counter));
  g.when(g.arriveLast(counter, job.grid.sharers), [&] {
    Value first = g.multiply(row, job.grid.sharers);
    for (auto [number, sum] : llvm::enumerate(open)) {
      Type element = sum.value.getType();
      Value total[] = {g.neutral(sum.reduction, /*lanes=*/false)};
      g.loop(g.thread, g.number(job.grid.sharers), g.threads, total,
             [&](Value other, MutableArrayRef<Value> next) {
               Value slot = slotOf(g.add(first, other), number);
               next[0] = g.combine(sum.reduction, next[0],
                                   e.load(slot, element, zero));
             });
      sum.value = total[0];
    }
    addThreads(open);
    finish();
  });
}

void weft::emitSplitRows(GpuJob &job) { RowsEmitter(job).emitSplit(); }
