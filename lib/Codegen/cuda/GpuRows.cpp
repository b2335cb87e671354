//===- GpuRows.cpp - Reductions of rows -----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes over a row, by the threads of a warp or of a block, of which each
// has the same columns in every pass (RowColumns). Where they are few,
// all passes are straight-line code: the element emitter then finds in one pass
// what an earlier one has loaded or computed, and the row stays in registers.
// Where they are many, the first pass that loads operands keeps them in shared
// memory for the others, if there is room.

#include "GpuRows.h"

using namespace mlir;
using namespace weft;

RowsEmitter::RowsEmitter(GpuJob &job)
    : job(job), e(job.e), g(job.g), nest(*job.grid.nest),
      together(job.grid.rowThreads), isWarp(together < g.threads),
      member(isWarp ? g.remainder(g.thread, together) : g.thread) {
  for (const GridJob::KeptOperand &operand : job.grid.kept)
    e.kept.add(operand.argument, g.launchMemoryAt(operand.offset));
  // Here, where they dominate all rows.
  if (!job.grid.hasEdges)
    placeColumns(Value());
}

/// Of a row, or of all.
void RowsEmitter::placeColumns(Value row) {
  columnsOf.clear();
  held.clear();
  for (const auto &pass : nest.passes)
    for (const ColumnLoop &loop : pass) {
      if (loop.columns == 1 || columnsOf.count(loop.columns))
        continue;
      RowColumns columns(job, loop.columns, member, together, row);
      columnsOf.insert({loop.columns, columns});
      if (!isHeld(loop))
        continue;
      // Edges first: for them, and for the first vector, a thread may borrow
      // what is another's, before that one writes over it.
      std::vector<RowColumns::Part> &parts = held[loop.columns];
      if (auto edge = columns.edge())
        parts.push_back(*edge);
      int64_t steps = countSteps(loop.columns, together, job.grid.lanes);
      for (int64_t step = 0; step < steps; ++step)
        parts.push_back(columns.vectorAt(step));
    }
}

bool RowsEmitter::isHeld(const ColumnLoop &loop) const {
  if (job.grid.kind == JobKind::SplitRows || loop.columns == 1)
    return false;
  int64_t lanes = job.grid.lanes;
  return countSteps(loop.columns, together, lanes) * lanes <= heldNumbers;
}

void RowsEmitter::setRow(Value row) {
  e.position.row =
      nest.rows == 1 ? e.indices.constant(0) : e.indices.uniform(row);
  e.forgetRows();
}

void RowsEmitter::emitPass(unsigned number, RowSums *sums) {
  std::vector<OpenSum> open;
  for (const ColumnLoop &loop : nest.passes[number]) {
    e.position.columns = loop.columns;
    e.position.ownElement = {};
    if (loop.columns == 1)
      emitSingle(loop, sums);
    else if (isHeld(loop))
      emitHeld(loop, open, sums);
    else
      emitWalk(loop, open, sums);
  }
  addThreads(open);
  closeSums(open);
  e.kept.finishPass();
}

/// Opens the row reductions of a loop.
MutableArrayRef<RowsEmitter::OpenSum>
RowsEmitter::openSums(const ColumnLoop &loop, std::vector<OpenSum> &open) {
  size_t before = open.size();
  for (linalg::GenericOp reduction : loop.reductions)
    open.push_back({reduction, emitRowInit(e, reduction),
                    g.neutral(reduction, /*lanes=*/true),
                    job.grid.hasEdges ? g.neutral(reduction, /*lanes=*/false)
                                      : CompensatedSum()});
  return MutableArrayRef(open).drop_front(before);
}

/// Adds up the shares of the threads, each as one number.
void RowsEmitter::addThreads(MutableArrayRef<OpenSum> open) {
  SmallVector<GpuBlock::Sum> sums;
  for (const OpenSum &sum : open) {
    CompensatedSum value = sum.value;
    if (LaneOps::isLanes(value.sum))
      value = value.error
                  ? addLanes(e.b, value)
                  : CompensatedSum{e.ops.reduceLanes(getCombiner(sum.reduction),
                                                     value.sum),
                                   {}};
    if (sum.edge.sum)
      value = g.combine(sum.reduction, value, sum.edge);
    sums.push_back({sum.reduction, value});
  }
  if (isWarp)
    g.reduceWarps(sums, together);
  else
    g.reduceBlock(sums);
  for (auto [sum, total] : llvm::zip_equal(open, sums))
    sum = {sum.reduction, sum.init, total.value, {}};
}

/// Makes them numbers of the row, for the passes that follow.
void RowsEmitter::closeSums(ArrayRef<OpenSum> open) {
  for (const OpenSum &sum : open)
    known.push_back(
        {sum.reduction, g.finish(sum.reduction, sum.init, sum.value)});
  for (auto [reduction, value] : known)
    e.knowRow(reduction, value);
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
  setColumn(e, e.indices.constant(0));
  for (linalg::GenericOp reduction : loop.reductions)
    known.push_back(
        {reduction, emitTerm(e, reduction, emitRowInit(e, reduction))});
  if (sums)
    sums->add(loop, /*step=*/0, g.equals(member, 0));
  if (loop.writes.empty())
    return;
  waitToOverwrite(loop);
  g.when(g.equals(member, 0), [&] { emitWrites(job, loop); });
}

/// Parts of one kind, edges or vectors, whose loads may overlap: all is
/// computed before anything is stored. `waits`: until others have computed.
void RowsEmitter::emitParts(const ColumnLoop &loop,
                            ArrayRef<RowColumns::Part> parts,
                            MutableArrayRef<OpenSum> own, RowSums *sums,
                            size_t step, bool waits) {
  RowColumns &columns = columnsOf.at(loop.columns);
  SmallVector<SmallVector<Value>> written;
  for (const RowColumns::Part &part : parts) {
    columns.enter(part);
    e.startBody();
    for (OpenSum &sum : own) {
      CompensatedSum &value = part.isEdge ? sum.edge : sum.value;
      CompensatedSum next = g.addPlace(sum.reduction, value);
      value = g.select(part.valid, next, value);
    }
    if (sums)
      sums->add(loop, step, part.valid);
    written.push_back(computeWrites(job, loop));
  }
  if (waits && !loop.writes.empty())
    waitToOverwrite(loop);
  for (auto [part, values] : llvm::zip_equal(parts, written)) {
    columns.enter(part);
    storeWrites(job, loop, values, part.valid);
  }
  e.ops.width = job.grid.lanes;
}

void RowsEmitter::emitHeld(const ColumnLoop &loop, std::vector<OpenSum> &open,
                           RowSums *sums) {
  MutableArrayRef<OpenSum> own = openSums(loop, open);
  bool isFirst = true;
  for (auto [step, part] : llvm::enumerate(held.at(loop.columns))) {
    bool hasBorrowed = part.valid && (part.isEdge || isFirst);
    isFirst &= part.isEdge;
    emitParts(loop, part, own, sums, step, hasBorrowed);
  }
}

/// Vectors are walked two at a time as long as all threads have them.
void RowsEmitter::emitWalk(const ColumnLoop &loop, std::vector<OpenSum> &open,
                           RowSums *sums) {
  MutableArrayRef<OpenSum> own = openSums(loop, open);
  RowColumns &columns = columnsOf.at(loop.columns);
  int64_t step = together;
  Value first = member, isFirstBlock;
  if (job.grid.kind == JobKind::SplitRows) {
    Value part = g.remainder(g.block, job.grid.sharers);
    first = g.add(first, g.multiply(part, step));
    isFirstBlock = g.equals(part, 0);
    step *= job.grid.sharers;
  }
  if (auto edge = columns.edge()) {
    if (isFirstBlock)
      edge->valid = g.both(edge->valid, isFirstBlock);
    emitParts(loop, *edge, own, sums, /*step=*/0, /*waits=*/true);
  }
  SmallVector<CompensatedSum> carried;
  for (const OpenSum &sum : own)
    carried.push_back(sum.value);
  auto walk = [&](Value begin, Value end, int64_t count) {
    g.loopSums(begin, end, count * step, carried,
               [&](Value at, MutableArrayRef<CompensatedSum> next) {
                 for (auto [sum, value] : llvm::zip_equal(own, next))
                   sum.value = value;
                 SmallVector<RowColumns::Part> parts;
                 for (int64_t i = 0; i < count; ++i)
                   parts.push_back(columns.vector(
                       i == 0 ? at : g.add(at, g.number(i * step))));
                 emitParts(loop, parts, own, sums, /*step=*/0, /*waits=*/false);
                 for (auto [sum, value] : llvm::zip_equal(own, next))
                   value = sum.value;
               });
  };
  constexpr int64_t atOnce = 2, fewSteps = 4;
  int64_t common = columns.leastVectors() / step / atOnce * atOnce;
  if (common >= fewSteps) {
    Value end = g.add(first, g.number(common * step));
    walk(first, end, atOnce);
    first = end;
  }
  walk(first, columns.vectors(), 1);
  for (auto [sum, value] : llvm::zip_equal(own, carried))
    sum.value = value;
}

void RowsEmitter::emitRow(Value row, RowSums *sums) {
  e.enterScope();
  setRow(row);
  if (job.grid.hasEdges)
    placeColumns(row);
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
  if (nest.rows % rowsAtOnce != 0) {
    valid = g.less(row, g.number(nest.rows));
    if (together < warpThreads)
      g.lanesHere = g.ballot(valid);
  }
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
  if (job.grid.hasEdges)
    placeColumns(row);
  const ColumnLoop &loop = nest.passes.front().front();
  e.position.columns = loop.columns;
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

  auto slotOf = [&](Value block, unsigned number) {
    Value slot = g.add(g.multiply(block, open.size()), g.number(number));
    return g.workspaceAt(
        g.add(g.multiply(slot, sumBytes), g.number(job.grid.partials)));
  };
  LaneIndex zero = e.indices.constant(0);
  g.when(g.equals(g.thread, 0), [&] {
    for (auto [number, sum] : llvm::enumerate(open))
      g.store(sum.value, slotOf(g.block, number), sumBytes, zero);
  });
  Value counter = g.add(row, g.number(job.grid.counter));
  g.when(g.arriveLast(counter, job.grid.sharers), [&] {
    Value first = g.multiply(row, job.grid.sharers);
    for (auto [number, sum] : llvm::enumerate(open)) {
      CompensatedSum total[] = {g.neutral(sum.reduction, /*lanes=*/false)};
      g.loopSums(g.thread, g.number(job.grid.sharers), g.threads, total,
                 [&](Value other, MutableArrayRef<CompensatedSum> next) {
                   Value slot = slotOf(g.add(first, other), number);
                   next[0] =
                       g.combine(sum.reduction, next[0],
                                 g.load(sum.reduction, slot, sumBytes, zero));
                 });
      sum.value = total[0];
    }
    addThreads(open);
    finish();
  });
}

void weft::emitSplitRows(GpuJob &job) { RowsEmitter(job).emitSplit(); }
