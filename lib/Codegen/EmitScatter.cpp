//===- EmitScatter.cpp - Sums at indices ----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitScatter.h"
#include "ColumnAccumulators.h"
#include "CompensatedSum.h"
#include "EmitColumns.h"
#include "KeySorter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft;

/// Elements of a table whose sums are formed on the stack.
static constexpr int64_t smallTable = 8192;

namespace {

class ScatterEmitter {
public:
  ScatterEmitter(ElementEmitter &e, ScatterAddOp op, Value result,
                 Block *entry);
  void emit();

private:
  using Index = SmallVector<LaneIndex>;
  using Body = llvm::function_ref<void()>;
  /// The row of the table (i64) that a row of updates is for, and whether the
  /// table has it.
  struct Target {
    Value row, isInside;
  };
  Target targetOf(Value updateRow);
  Index updateAt(Value updateRow);
  LaneIndex indexAt(Value tableRow);
  void forEachElement(llvm::function_ref<void(LaneIndex)> body);
  void forEachColumn(Body body);

  void clear(Value table, Type element);
  void addOneByOne(Value sums, Type element);
  void addInWideTable();
  void addSorted();
  Value appendAll(KeySorter &sorter, Value first, Value end);
  Value endOfRow(KeySorter &sorter, Value begin, Value count);
  void addRow(KeySorter &sorter, Value first, Value begin, Value end);
  Value addUpdate(Value sum, Value updateRow);
  Value convert(Value value, Type element);

  ElementEmitter &e;
  OpBuilder &b;
  Location loc;
  ScatterAddOp op;
  Value result;
  Block *entry;
  GatherDims dims;
  RankedTensorType table;
  Type element;
  /// Leading dimensions of the updates that are walked one by one: up to the
  /// last one that an index depends on. The others follow `dim` in the table.
  SmallVector<int64_t> rowShape, columnShape;
  /// Dimensions of the table that a row of updates fixes, and their sizes.
  SmallVector<int64_t> tableRowDims, tableRowShape;
  int64_t rows, columns;
};

} // namespace

static int64_t countRowDims(GatherDims dims) {
  int64_t count = dims.dim;
  for (int64_t takenDim : dims.getTakenDimsOfIndices())
    count = std::max(count, takenDim + 1);
  return count;
}

ScatterEmitter::ScatterEmitter(ElementEmitter &e, ScatterAddOp op, Value result,
                               Block *entry)
    : e(e), b(e.b), loc(e.loc), op(op), result(result), entry(entry),
      dims(op.getGatherDims()), table(op.getType()),
      element(table.getElementType()) {
  int64_t rowDims = countRowDims(dims);
  ArrayRef<int64_t> taken = op.getUpdates().getType().getShape();
  rowShape.assign(taken.begin(), taken.begin() + rowDims);
  columnShape.assign(taken.begin() + rowDims, taken.end());
  rows = llvm::product_of(rowShape);
  columns = llvm::product_of(columnShape);
  for (int64_t dim = 0; dim < dims.tableRank; ++dim)
    if (dim == dims.dim || dims.getTakenDim(dim) < rowDims) {
      tableRowDims.push_back(dim);
      tableRowShape.push_back(table.getDimSize(dim));
    }
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

ScatterEmitter::Target ScatterEmitter::targetOf(Value updateRow) {
  Index row = e.indices.delinearise(e.indices.uniform(updateRow), rowShape);
  auto index =
      llvm::map_to_vector(dims.getTakenDimsOfIndices(),
                          [&](int64_t takenDim) { return row[takenDim]; });
  Value at = e.emit(op.getIndices(), index);
  if (at.getType() != b.getI64Type())
    at = arith::ExtSIOp::create(b, loc, b.getI64Type(), at);
  Index fixed;
  for (int64_t dim : tableRowDims)
    fixed.push_back(dim == dims.dim ? e.indices.uniform(at)
                                    : row[dims.getTakenDim(dim)]);
  // A negative index is, as an unsigned number, above every size.
  Value isInside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at,
                                         e.ops.i64(table.getDimSize(dims.dim)));
  return {e.indices.linearise(fixed, tableRowShape).base, isInside};
}

/// Where a row of updates has the emitter's column.
ScatterEmitter::Index ScatterEmitter::updateAt(Value updateRow) {
  Index at = e.indices.delinearise(e.indices.uniform(updateRow), rowShape);
  llvm::append_range(at, e.indices.delinearise(e.position.column, columnShape));
  return at;
}

/// Where a row of the table has the emitter's column.
LaneIndex ScatterEmitter::indexAt(Value tableRow) {
  Index index(dims.tableRank);
  Index fixed =
      e.indices.delinearise(e.indices.uniform(tableRow), tableRowShape);
  Index column = e.indices.delinearise(e.position.column, columnShape);
  for (auto [dim, x] : llvm::zip_equal(tableRowDims, fixed))
    index[dim] = x;
  for (int64_t dim = 0; dim < dims.tableRank; ++dim)
    if (!llvm::is_contained(tableRowDims, dim))
      index[dim] = column[dims.getTakenDim(dim) - rowShape.size()];
  return e.indices.linearise(index, table.getShape());
}

void ScatterEmitter::forEachElement(llvm::function_ref<void(LaneIndex)> body) {
  if (table.getNumElements() == 1)
    return body(e.indices.constant(0));
  ColumnSums none;
  emitColumns(e, table.getNumElements(), none,
              [&](ColumnSums &) { body(e.position.column); });
}

void ScatterEmitter::forEachColumn(Body body) {
  if (columns > 1) {
    ColumnSums none;
    return emitColumns(e, columns, none, [&](ColumnSums &) { body(); });
  }
  e.position.column = e.indices.constant(0);
  body();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Value ScatterEmitter::convert(Value value, Type to) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == to)
    return value;
  Type type = to;
  if (auto lanes = dyn_cast<VectorType>(value.getType()))
    type = lanes.clone(to);
  if (to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, loc, type, value);
  return arith::TruncFOp::create(b, loc, type, value);
}

/// The sum with the emitter's column of a row of updates.
Value ScatterEmitter::addUpdate(Value sum, Value updateRow) {
  Value update = e.emit(op.getUpdates(), updateAt(updateRow));
  update = convert(update, getElementTypeOrSelf(sum.getType()));
  if (LaneOps::isLanes(sum))
    update = e.ops.spread(update);
  if (isa<FloatType>(element))
    return arith::AddFOp::create(b, loc, sum, update);
  return arith::AddIOp::create(b, loc, sum, update);
}

void ScatterEmitter::clear(Value sums, Type type) {
  Value zero = e.ops.constant(b.getZeroAttr(type));
  forEachElement([&](LaneIndex at) { e.store(zero, sums, at); });
}

void ScatterEmitter::addOneByOne(Value sums, Type type) {
  clear(sums, type);
  emitLoop(e, e.ops.i64(0), e.ops.i64(rows), 1, {},
           [&](Value updateRow, MutableArrayRef<Value>) {
             Target target = targetOf(updateRow);
             scf::IfOp::create(
                 b, loc, target.isInside, [&](OpBuilder &, Location) {
                   e.enterScope();
                   forEachColumn([&] {
                     LaneIndex at = indexAt(target.row);
                     Value before = e.load(sums, type, at);
                     e.store(addUpdate(before, updateRow), sums, at);
                   });
                   scf::YieldOp::create(b, loc);
                   e.leaveScope();
                 });
           });
}

void ScatterEmitter::addInWideTable() {
  Type wide = b.getF64Type();
  Value sums = allocateElements(
      b, loc, entry, wide, llvm::alignTo(table.getNumElements(), laneCount));
  addOneByOne(sums, wide);
  forEachElement([&](LaneIndex at) {
    e.store(convert(e.load(sums, wide, at), element), result, at);
  });
}

//===----------------------------------------------------------------------===//
// Sorted updates
//===----------------------------------------------------------------------===//

/// Gives the sorter the rows of updates from `first` on, as numbers from 0 on;
/// how many there are.
Value ScatterEmitter::appendAll(KeySorter &sorter, Value first, Value end) {
  Value count[] = {e.ops.i64(0)};
  emitLoop(e, first, end, 1, count,
           [&](Value updateRow, MutableArrayRef<Value> next) {
             Target target = targetOf(updateRow);
             Value item = arith::SubIOp::create(b, loc, updateRow, first);
             next[0] =
                 sorter.append(next[0], item, target.row, target.isInside);
           });
  return count[0];
}

/// Where behind `begin` the updates of another row of the table begin.
Value ScatterEmitter::endOfRow(KeySorter &sorter, Value begin, Value count) {
  Value row = sorter.keyAt(begin);
  auto loop = scf::WhileOp::create(
      b, loc, TypeRange{b.getI64Type()}, ValueRange{begin},
      [&](OpBuilder &, Location, ValueRange at) {
        Value isSorted = arith::CmpIOp::create(
            b, loc, arith::CmpIPredicate::ult, at[0], count);
        Value valid = e.ops.select(isSorted, at[0], begin);
        Value isSame = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                             sorter.keyAt(valid), row);
        Value more = arith::AndIOp::create(b, loc, isSorted, isSame);
        scf::ConditionOp::create(b, loc, more, at);
      },
      [&](OpBuilder &, Location, ValueRange at) {
        Value next = arith::AddIOp::create(b, loc, at[0], e.ops.i64(1));
        scf::YieldOp::create(b, loc, next);
      });
  return loop.getResult(0);
}

/// Adds the sorted updates from `begin` to before `end`, of one row of the
/// table, in f64; what these additions round off counts where the table is of
/// f64.
void ScatterEmitter::addRow(KeySorter &sorter, Value first, Value begin,
                            Value end) {
  Type wide = b.getF64Type();
  Value row = sorter.keyAt(begin);
  forEachColumn([&] {
    LaneIndex at = indexAt(row), column = e.position.column;
    Value before = convert(e.load(result, element, at), wide);
    SmallVector<Value> sum = {before};
    if (element.isF64())
      sum.push_back(
          e.ops.constant(b.getF64FloatAttr(0), LaneOps::isLanes(before)));
    emitLoop(e, begin, end, 1, sum,
             [&](Value number, MutableArrayRef<Value> next) {
               e.position.column = column;
               Value updateRow =
                   arith::AddIOp::create(b, loc, first, sorter.itemAt(number));
               Value sum = addUpdate(next[0], updateRow);
               if (next.size() > 1)
                 next[1] = addTerm(b, {next[0], next[1]}, sum).error;
               next[0] = sum;
             });
    Value total = sum.size() > 1 ? totalOf(b, {sum[0], sum[1]})
                                 : convert(sum[0], element);
    e.store(total, result, at);
  });
}

void ScatterEmitter::addSorted() {
  clear(result, element);
  int64_t most = std::min(rows, sortedUpdates);
  KeySorter sorter(e, entry, most, llvm::product_of(tableRowShape));
  emitLoop(e, e.ops.i64(0), e.ops.i64(rows), most, {},
           [&](Value first, MutableArrayRef<Value>) {
             Value end = arith::AddIOp::create(b, loc, first, e.ops.i64(most));
             end = arith::MinSIOp::create(b, loc, end, e.ops.i64(rows));
             Value count = appendAll(sorter, first, end);
             sorter.sort(count);
             scf::WhileOp::create(
                 b, loc, TypeRange{b.getI64Type()}, ValueRange{e.ops.i64(0)},
                 [&](OpBuilder &, Location, ValueRange at) {
                   Value more = arith::CmpIOp::create(
                       b, loc, arith::CmpIPredicate::ult, at[0], count);
                   scf::ConditionOp::create(b, loc, more, at);
                 },
                 [&](OpBuilder &, Location, ValueRange at) {
                   e.enterScope();
                   Value next = endOfRow(sorter, at[0], count);
                   addRow(sorter, first, at[0], next);
                   scf::YieldOp::create(b, loc, next);
                   e.leaveScope();
                 });
           });
}

void ScatterEmitter::emit() {
  if (!isa<FloatType>(element) || rows <= 1)
    return addOneByOne(result, element);
  if (!element.isF64() && table.getNumElements() <= smallTable)
    return addInWideTable();
  addSorted();
}

void weft::emitScatterAdd(ElementEmitter &e, ScatterAddOp op, Value result,
                          Block *entry) {
  ScatterEmitter(e, op, result, entry).emit();
}
