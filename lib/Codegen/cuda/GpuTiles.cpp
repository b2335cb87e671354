//===- GpuTiles.cpp - Elements that are read transposed
//---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has a square of elements. What an operation reads across rows lies
// side by side down a column of the square: the block first reads it so, a warp
// a column, and leaves it in shared memory. Then it computes the elements, a
// warp a row, with these from there. Both ways lanes have neighbouring numbers.
//
// Code for an element is emitted twice, at positions that differ in what the
// lanes count; the first time nothing is used of it but what is read across
// rows.

#include "GpuJobs.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;

namespace {

class TilesEmitter {
public:
  explicit TilesEmitter(GpuJob &job);
  void emit();

private:
  /// A square of elements in shared memory, of what is read across rows; null
  /// where there was no room for it.
  struct Square {
    Value memory;
    Type element;
  };
  Value read(linalg::GenericOp op, OpOperand &operand,
             llvm::function_ref<Value()> emitElement);
  Square keep(Value element);
  LaneIndex positionInSquare();
  void fill();
  void use();

  GpuJob &job;
  ElementEmitter &e;
  GpuBlock &g;
  const ColumnLoop &loop;
  int64_t rows, lanes, side;
  /// One more than the side, so that a row of the square is in all banks.
  int64_t pitch;
  Value top, left;
  bool isFilling = false, isInside = false;
  /// In the order in which they are read, and the number of the next one.
  std::vector<Square> squares;
  size_t next = 0;
  int64_t bytes = 0;
};

} // namespace

TilesEmitter::TilesEmitter(GpuJob &job)
    : job(job), e(job.e), g(job.g), loop(*job.grid.loop),
      rows(job.grid.nest->rows), lanes(job.grid.lanes),
      side(warpThreads * lanes), pitch(side + 1) {
  int64_t squaresOfRow = llvm::divideCeil(loop.columns, side);
  top = g.multiply(g.divide(g.block, squaresOfRow), side);
  left = g.multiply(g.remainder(g.block, squaresOfRow), side);
  e.position.columns = loop.columns;
}

/// Where the emitter's position is in a square: columns lie one behind the
/// other.
LaneIndex TilesEmitter::positionInSquare() {
  Value row = g.subtract(e.position.row.base, top);
  Value column = g.subtract(e.position.column.base, left);
  int64_t stride = e.position.row.stride + e.position.column.stride * pitch;
  return {g.add(g.multiply(column, pitch), row), stride, {}, 1};
}

/// Stores the element at the emitter's position, if there is room.
TilesEmitter::Square TilesEmitter::keep(Value element) {
  constexpr int64_t mostBytes = 40 * 1024;
  Type type = getElementTypeOrSelf(element.getType());
  int64_t size =
      side * pitch * llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
  if (bytes + size > mostBytes)
    return {Value(), type};
  bytes += size;
  Value memory;
  {
    // Where it is known to all code of the job.
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointAfter(left.getDefiningOp());
    memory = g.allocateShared(size);
  }
  e.store(element, memory, positionInSquare());
  return {memory, type};
}

/// Both times code asks for the same elements in the same order.
Value TilesEmitter::read(linalg::GenericOp op, OpOperand &operand,
                         llvm::function_ref<Value()> emitElement) {
  if (isInside || !readsAcrossRows(op, operand))
    return emitElement();
  size_t number = next++;
  if (!isFilling && squares[number].memory)
    return e.load(squares[number].memory, squares[number].element,
                  positionInSquare());
  isInside = true;
  Value element = emitElement();
  isInside = false;
  if (isFilling)
    squares.push_back(keep(element));
  return element;
}

/// A warp has a column of the square.
void TilesEmitter::fill() {
  Value end = g.smaller(g.add(left, g.number(side)), loop.columns);
  Value row = g.add(top, g.multiply(g.lane, lanes));
  g.loop(g.add(left, g.warp), end, g.threads / warpThreads, {},
         [&](Value column, MutableArrayRef<Value>) {
           g.when(g.less(row, g.number(rows)), [&] {
             e.position.row = g.columnsAt(row);
             setColumn(e, e.indices.uniform(column));
             computeWrites(job, loop);
           });
         });
}

/// A warp has a row of the square.
void TilesEmitter::use() {
  Value end = g.smaller(g.add(top, g.number(side)), rows);
  Value column = g.add(left, g.multiply(g.lane, lanes));
  g.when(g.less(column, g.number(loop.columns)), [&] {
    g.loop(g.add(top, g.warp), end, g.threads / warpThreads, {},
           [&](Value row, MutableArrayRef<Value>) {
             e.position.row = e.indices.uniform(row);
             setColumn(e, g.columnsAt(column));
             emitWrites(job, loop);
           });
  });
}

static bool hasReduction(Value value, DenseSet<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || !seen.insert(op).second)
    return false;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return (generic && generic.getNumReductionLoops() > 0) ||
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return hasReduction(operand, seen);
         });
}

void TilesEmitter::emit() {
  // What a reduction reads is many elements for one.
  DenseSet<Operation *> seen;
  bool canFill = llvm::none_of(loop.writes, [&](const KernelRoot &root) {
    return hasReduction(root.value, seen);
  });
  if (!canFill)
    return use();
  e.setOperandReader([&](linalg::GenericOp op, OpOperand &operand,
                         llvm::function_ref<Value()> emitElement) {
    return read(op, operand, emitElement);
  });
  isFilling = true;
  fill();
  isFilling = false;
  next = 0;
  g.barrier();
  use();
  e.setOperandReader(nullptr);
}

void weft::emitTiles(GpuJob &job) { TilesEmitter(job).emit(); }
