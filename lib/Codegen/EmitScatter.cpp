//===- EmitScatter.cpp - Sums at indices ----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitScatter.h"
#include "EmitColumns.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft;

namespace {

class ScatterEmitter {
public:
  ScatterEmitter(ElementEmitter &e, ScatterAddOp op, Value result)
      : e(e), b(e.b), loc(e.loc), op(op), result(result),
        dims(op.getGatherDims()), table(op.getType()),
        taken(op.getUpdates().getType()) {}

  void clear();
  void addAll();

private:
  using Index = SmallVector<LaneIndex>;
  int64_t countRowDims() const;
  void addRow(ArrayRef<LaneIndex> row);
  void addColumns(ArrayRef<LaneIndex> row, LaneIndex at);
  Value sum(Value x, Value y);

  ElementEmitter &e;
  OpBuilder &b;
  Location loc;
  ScatterAddOp op;
  Value result;
  GatherDims dims;
  RankedTensorType table, taken;
};

} // namespace

void ScatterEmitter::clear() {
  Value zero = e.ops.constant(b.getZeroAttr(table.getElementType()));
  int64_t elements = table.getNumElements();
  if (elements == 1) {
    e.store(zero, result, e.indices.constant(0));
    return;
  }
  ColumnSums none;
  emitColumns(e, elements, none,
              [&](ColumnSums &) { e.store(zero, result, e.column); });
}

/// Leading dimensions of the updates that are walked one by one: up to the last
/// one that an index depends on. The others follow `dim` in the table.
int64_t ScatterEmitter::countRowDims() const {
  int64_t count = dims.dim;
  for (int64_t takenDim : dims.getTakenDimsOfIndices())
    count = std::max(count, takenDim + 1);
  return count;
}

void ScatterEmitter::addAll() {
  ArrayRef<int64_t> rowShape = taken.getShape().take_front(countRowDims());
  int64_t rows = countElements(rowShape);
  scf::ForOp::create(
      b, loc, e.ops.i64(0), e.ops.i64(rows), e.ops.i64(1), ValueRange(),
      [&](OpBuilder &, Location, Value row, ValueRange) {
        e.enterScope();
        addRow(e.indices.delinearise(e.indices.uniform(row), rowShape));
        scf::YieldOp::create(b, loc);
        e.leaveScope();
      });
}

void ScatterEmitter::addRow(ArrayRef<LaneIndex> row) {
  auto index =
      llvm::map_to_vector(dims.getTakenDimsOfIndices(),
                          [&](int64_t takenDim) { return row[takenDim]; });
  Value at = e.emit(op.getIndices(), index);
  if (at.getType() != b.getI64Type())
    at = arith::ExtSIOp::create(b, loc, b.getI64Type(), at);
  // A negative index is, as an unsigned number, above every size.
  Value isInside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at,
                                         e.ops.i64(table.getDimSize(dims.dim)));
  scf::IfOp::create(b, loc, isInside, [&](OpBuilder &, Location) {
    e.enterScope();
    addColumns(row, e.indices.uniform(at));
    scf::YieldOp::create(b, loc);
    e.leaveScope();
  });
}

void ScatterEmitter::addColumns(ArrayRef<LaneIndex> row, LaneIndex at) {
  ArrayRef<int64_t> columnShape = taken.getShape().drop_front(row.size());
  int64_t columns = countElements(columnShape);
  auto add = [&](ColumnSums &) {
    Index source(row);
    llvm::append_range(source, e.indices.delinearise(e.column, columnShape));
    Index target;
    for (int64_t dim = 0; dim < dims.tableRank; ++dim)
      target.push_back(dim == dims.dim ? at : source[dims.getTakenDim(dim)]);
    LaneIndex offset = e.indices.linearise(target, table.getShape());
    Value update = e.emit(op.getUpdates(), source);
    Value before = e.load(result, table.getElementType(), offset);
    e.store(sum(before, update), result, offset);
  };
  ColumnSums none;
  if (columns > 1)
    return emitColumns(e, columns, none, add);
  e.column = e.indices.constant(0);
  add(none);
}

Value ScatterEmitter::sum(Value x, Value y) {
  if (LaneOps::isLanes(x))
    y = e.ops.spread(y);
  if (isa<FloatType>(table.getElementType()))
    return arith::AddFOp::create(b, loc, x, y);
  return arith::AddIOp::create(b, loc, x, y);
}

void weft::emitScatterAdd(ElementEmitter &e, ScatterAddOp op, Value result) {
  ScatterEmitter emitter(e, op, result);
  emitter.clear();
  emitter.addAll();
}
