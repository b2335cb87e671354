//===- GpuColumnSums.cpp - Sums over rows ---------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has a tile of columns, `rowThreads` vectors wide, and as many rows at
// once as it has threads for. Blocks that share a tile leave their sums in the
// workspace; the last of them adds these up.

#include "GpuJobs.h"

using namespace mlir;
using namespace weft;

namespace {

class ColumnSumsEmitter {
public:
  explicit ColumnSumsEmitter(GpuJob &job);
  void emit();

private:
  linalg::GenericOp opOf(const KernelRoot &root) {
    return root.value.getDefiningOp<linalg::GenericOp>();
  }
  using Sums = SmallVector<CompensatedSum>;
  /// Bytes of a sum in the slots of all threads, and in the workspace.
  int64_t slotBytes(unsigned number) {
    return partialBytes(loop.accumulations[number], g.threads * e.ops.width);
  }
  int64_t blockBytes(unsigned number) {
    return partialBytes(loop.accumulations[number], width * e.ops.width);
  }
  Sums neutrals();
  Sums sumRows();
  void leave(const Sums &sums);
  void sumThreads(unsigned number,
                  llvm::function_ref<void(CompensatedSum)> use);
  Value partialOf(Value block, unsigned number);
  void write(unsigned number, CompensatedSum total);
  void addPartials();

  GpuJob &job;
  ElementEmitter &e;
  GpuBlock &g;
  const ColumnLoop &loop;
  int64_t rows, width, height;
  /// The thread's column of vectors and row in the block.
  Value x, y, tile, share, valid;
  LaneIndex column;
  /// Of each sum, a number for each thread and lane.
  SmallVector<Value> slots;
};

} // namespace

ColumnSumsEmitter::ColumnSumsEmitter(GpuJob &job)
    : job(job), e(job.e), g(job.g), loop(*job.grid.loop),
      rows(job.grid.nest->rows), width(job.grid.rowThreads),
      height(g.threads / width) {
  e.position.columns = loop.columns;
  x = g.remainder(g.thread, width);
  y = g.divide(g.thread, width);
  tile = g.remainder(g.block, job.grid.tiles);
  share = g.divide(g.block, job.grid.tiles);
  if (loop.columns == 1) {
    column = e.indices.constant(0);
  } else {
    int64_t lanes = e.ops.width;
    Value base = g.multiply(g.add(g.multiply(tile, width), x), lanes);
    if (job.grid.tiles * width * lanes > loop.columns) {
      valid = g.less(base, g.number(loop.columns));
      base = g.smaller(base, loop.columns - lanes);
    }
    column = g.columnsAt(base);
  }
  for (unsigned number = 0; number < loop.accumulations.size(); ++number)
    slots.push_back(g.allocateShared(slotBytes(number)));
}

ColumnSumsEmitter::Sums ColumnSumsEmitter::neutrals() {
  Sums sums;
  for (const KernelRoot &root : loop.accumulations)
    sums.push_back(g.neutral(opOf(root), /*lanes=*/loop.columns > 1));
  return sums;
}

ColumnSumsEmitter::Sums ColumnSumsEmitter::sumRows() {
  Sums sums = neutrals();
  Value first = g.add(g.multiply(share, height), y);
  if (valid) // others have no rows
    first = e.ops.select(valid, first, g.number(rows));
  g.loopSums(first, g.number(rows), job.grid.sharers * height, sums,
             [&](Value row, MutableArrayRef<CompensatedSum> next) {
               e.position.row = e.indices.uniform(row);
               setColumn(e, column);
               for (auto [root, sum] :
                    llvm::zip_equal(loop.accumulations, next))
                 sum = g.addPlace(opOf(root), sum);
               emitWrites(job, loop);
             });
  return sums;
}

void ColumnSumsEmitter::leave(const Sums &sums) {
  LaneIndex own = g.columnsAt(g.multiply(g.thread, e.ops.width));
  for (auto [number, sum] : llvm::enumerate(sums))
    g.store(sum, slots[number], slotBytes(number), own);
  g.barrier();
}

/// The sum of what the threads of a column have left, in one of them.
void ColumnSumsEmitter::sumThreads(
    unsigned number, llvm::function_ref<void(CompensatedSum)> use) {
  const KernelRoot &root = loop.accumulations[number];
  g.when(g.equals(y, 0), [&] {
    CompensatedSum total;
    for (int64_t row = 0; row < height; ++row) {
      Value at = g.multiply(g.add(x, g.number(row * width)), e.ops.width);
      CompensatedSum sum =
          g.load(opOf(root), slots[number], slotBytes(number), g.columnsAt(at));
      total = total.sum ? g.combine(opOf(root), total, sum) : sum;
    }
    use(total);
  });
}

Value ColumnSumsEmitter::partialOf(Value block, unsigned number) {
  int64_t bytes = 0, offset = 0;
  for (unsigned other = 0; other < loop.accumulations.size(); ++other) {
    if (other == number)
      offset = bytes;
    bytes += blockBytes(other);
  }
  Value at = g.add(g.multiply(block, bytes), g.number(offset));
  return g.workspaceAt(g.add(at, g.number(job.grid.partials)));
}

void ColumnSumsEmitter::write(unsigned number, CompensatedSum total) {
  const KernelRoot &root = loop.accumulations[number];
  g.when(valid, [&] {
    e.position.column = column;
    Value sum = g.finish(opOf(root), emitColumnInit(e, root), total);
    e.store(emitFinished(e, root, sum), job.results[root.result], column);
  });
}

/// Of all blocks that share the tile, in their order.
void ColumnSumsEmitter::addPartials() {
  Sums sums = neutrals();
  LaneIndex own = g.columnsAt(g.multiply(x, e.ops.width));
  g.loopSums(y, g.number(job.grid.sharers), height, sums,
             [&](Value other, MutableArrayRef<CompensatedSum> next) {
               Value block = g.add(g.multiply(other, job.grid.tiles), tile);
               for (auto [number, sum] : llvm::enumerate(next)) {
                 const KernelRoot &root = loop.accumulations[number];
                 sum = g.combine(opOf(root), sum,
                                 g.load(opOf(root), partialOf(block, number),
                                        blockBytes(number), own));
               }
             });
  leave(sums);
  for (unsigned number = 0; number < sums.size(); ++number)
    sumThreads(number, [&](CompensatedSum total) { write(number, total); });
}

void ColumnSumsEmitter::emit() {
  Sums sums = sumRows();
  leave(sums);
  bool isShared = job.grid.sharers > 1;
  LaneIndex own = g.columnsAt(g.multiply(x, e.ops.width));
  for (unsigned number = 0; number < sums.size(); ++number)
    sumThreads(number, [&](CompensatedSum total) {
      if (isShared)
        g.store(total, partialOf(g.block, number), blockBytes(number), own);
      else
        write(number, total);
    });
  if (isShared)
    g.when(
        g.arriveLast(g.add(tile, g.number(job.grid.counter)), job.grid.sharers),
        [&] { addPartials(); });
}

void weft::emitColumnSums(GpuJob &job) { ColumnSumsEmitter(job).emit(); }
