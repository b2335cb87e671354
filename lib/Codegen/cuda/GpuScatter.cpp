//===- GpuScatter.cpp - Sums at indices -----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp owns some rows of the table and a tile of their columns. It looks at
// all indices, 32 at a time, and adds the updates that are for its rows in
// their order: sums have one order, and no two threads add to one element. This
// costs a look at every index for each warp, at most a few thousand times; the
// indices stay in the cache.

#include "GpuJobs.h"

#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft;

namespace {

class ScatterEmitter {
public:
  explicit ScatterEmitter(GpuJob &job);
  void emit();

private:
  using Index = SmallVector<LaneIndex>;
  /// The row of the table that a row of updates is added to.
  struct Target {
    Index row;
    Value at, number, isOwned;
  };
  Target targetOf(Value updateRow);
  LaneIndex indexOf(Index rowDims, Index columnDims);
  void clear();
  void lookAt(Value first);
  void addRow(Value updateRow);
  Value sum(Value x, Value y);

  ElementEmitter &e;
  GpuBlock &g;
  OpBuilder &b;
  Location loc;
  ScatterAddOp op;
  GatherDims dims;
  RankedTensorType table;
  Value result;
  ArrayRef<int64_t> rowShape, columnShape;
  /// Dimensions of the table that a row of updates fixes, and their sizes.
  SmallVector<int64_t> tableRowDims, tableRowShape;
  int64_t columns, tableRows;
  /// The first row that the warp owns, and where the next warp's begin.
  Value firstRow, endRow;
  LaneIndex column;
  Value valid;
};

} // namespace

ScatterEmitter::ScatterEmitter(GpuJob &job)
    : e(job.e), g(job.g), b(e.b), loc(e.loc),
      op(job.grid.nest->scatter->value.getDefiningOp<ScatterAddOp>()),
      dims(op.getGatherDims()), table(op.getType()),
      result(job.results[job.grid.nest->scatter->result]) {
  int64_t rowDims = countScatterRowDims(op);
  ArrayRef<int64_t> taken = op.getUpdates().getType().getShape();
  rowShape = taken.take_front(rowDims);
  columnShape = taken.drop_front(rowDims);
  columns = llvm::product_of(columnShape);
  for (int64_t dim = 0; dim < dims.tableRank; ++dim)
    if (dim == dims.dim || dims.getTakenDim(dim) < rowDims) {
      tableRowDims.push_back(dim);
      tableRowShape.push_back(table.getDimSize(dim));
    }
  tableRows = llvm::product_of(tableRowShape);

  int64_t lanes = e.ops.width, tileColumns = warpThreads * lanes;
  Value warp = g.add(g.multiply(g.block, g.threads / warpThreads), g.warp);
  Value tile = g.remainder(warp, job.grid.tiles);
  firstRow = g.multiply(g.divide(warp, job.grid.tiles), job.grid.ownedRows);
  endRow = g.smaller(g.add(firstRow, g.number(job.grid.ownedRows)), tableRows);
  if (columns == 1) {
    column = e.indices.constant(0);
    valid = g.equals(g.lane, 0);
    return;
  }
  Value base = g.add(g.multiply(tile, tileColumns), g.multiply(g.lane, lanes));
  if (columns % tileColumns != 0) {
    valid = g.less(base, g.number(columns));
    base = g.smaller(base, columns - lanes);
  }
  column = g.columnsAt(base);
}

/// Where in the table these dimensions of the row, and those of the column,
/// are.
LaneIndex ScatterEmitter::indexOf(Index rowDims, Index columnDims) {
  Index index(dims.tableRank);
  for (auto [dim, x] : llvm::zip_equal(tableRowDims, rowDims))
    index[dim] = x;
  for (int64_t dim = 0; dim < dims.tableRank; ++dim)
    if (!llvm::is_contained(tableRowDims, dim))
      index[dim] = columnDims[dims.getTakenDim(dim) - rowShape.size()];
  return e.indices.linearise(index, table.getShape());
}

void ScatterEmitter::clear() {
  Value zero = e.ops.constant(b.getZeroAttr(table.getElementType()));
  g.loop(firstRow, endRow, 1, {}, [&](Value row, MutableArrayRef<Value>) {
    LaneIndex at =
        indexOf(e.indices.delinearise(e.indices.uniform(row), tableRowShape),
                e.indices.delinearise(column, columnShape));
    g.when(valid, [&] { e.store(zero, result, at); });
  });
}

ScatterEmitter::Target ScatterEmitter::targetOf(Value updateRow) {
  Target target;
  target.row = e.indices.delinearise(e.indices.uniform(updateRow), rowShape);
  auto index =
      llvm::map_to_vector(dims.getTakenDimsOfIndices(), [&](int64_t takenDim) {
        return target.row[takenDim];
      });
  target.at = e.emit(op.getIndices(), index);
  if (target.at.getType() != b.getI64Type())
    target.at = arith::ExtSIOp::create(b, loc, b.getI64Type(), target.at);
  Index row;
  for (int64_t dim : tableRowDims)
    row.push_back(dim == dims.dim ? e.indices.uniform(target.at)
                                  : target.row[dims.getTakenDim(dim)]);
  target.number = e.indices.linearise(row, tableRowShape).base;
  // A negative index is, as an unsigned number, above every size.
  Value isInside = g.less(target.at, g.number(table.getDimSize(dims.dim)));
  Value isBefore = g.less(target.number, endRow);
  Value isAfter = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                        target.number, firstRow);
  Value isOwn = arith::AndIOp::create(b, loc, isBefore, isAfter);
  target.isOwned = arith::AndIOp::create(b, loc, isInside, isOwn);
  return target;
}

Value ScatterEmitter::sum(Value x, Value y) {
  if (LaneOps::isLanes(x))
    y = e.ops.spread(y);
  if (isa<FloatType>(table.getElementType()))
    return arith::AddFOp::create(b, loc, x, y);
  return arith::AddIOp::create(b, loc, x, y);
}

/// A row that is for this warp.
void ScatterEmitter::addRow(Value updateRow) {
  Target target = targetOf(updateRow);
  Index columnDims = e.indices.delinearise(column, columnShape);
  Index source(target.row), row;
  llvm::append_range(source, columnDims);
  for (int64_t dim : tableRowDims)
    row.push_back(dim == dims.dim ? e.indices.uniform(target.at)
                                  : target.row[dims.getTakenDim(dim)]);
  LaneIndex at = indexOf(row, columnDims);
  g.when(valid, [&] {
    e.position.column = column;
    Value update = e.emit(op.getUpdates(), source);
    Value before = e.load(result, table.getElementType(), at);
    e.store(sum(before, update), result, at);
  });
}

/// The rows of updates from `first` on, one for each lane.
void ScatterEmitter::lookAt(Value first) {
  int64_t rows = llvm::product_of(rowShape);
  Value own = g.add(first, g.lane), isRow;
  if (rows % warpThreads != 0) {
    isRow = g.less(own, g.number(rows));
    own = g.smaller(own, rows - 1);
  }
  Value isOwned = targetOf(own).isOwned;
  if (isRow)
    isOwned = arith::AndIOp::create(b, loc, isOwned, isRow);
  Type word = b.getI32Type();
  auto i32 = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(number));
  };
  scf::WhileOp::create(
      b, loc, TypeRange{word}, ValueRange{g.ballot(isOwned)},
      [&](OpBuilder &, Location, ValueRange left) {
        Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                           left[0], i32(0));
        scf::ConditionOp::create(b, loc, more, left);
      },
      [&](OpBuilder &, Location, ValueRange left) {
        e.enterScope();
        Value bit = math::CountTrailingZerosOp::create(b, loc, left[0]);
        bit = arith::ExtUIOp::create(b, loc, b.getI64Type(), bit);
        addRow(g.add(first, bit));
        Value less = arith::SubIOp::create(b, loc, left[0], i32(1));
        Value rest = arith::AndIOp::create(b, loc, left[0], less);
        scf::YieldOp::create(b, loc, rest);
        e.leaveScope();
      });
}

void ScatterEmitter::emit() {
  if (columns == 0 || tableRows == 0)
    return;
  clear();
  g.loop(g.number(0), g.number(llvm::product_of(rowShape)), warpThreads, {},
         [&](Value first, MutableArrayRef<Value>) { lookAt(first); });
}

void weft::emitScatter(GpuJob &job) { ScatterEmitter(job).emit(); }
