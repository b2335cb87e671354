//===- EmitColumns.cpp - A loop over columns in lanes ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitColumns.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft;

static void emitVectors(ElementEmitter &e, Value begin, Value end,
                        ColumnSums &sums,
                        llvm::function_ref<void(ColumnSums &)> body) {
  OpBuilder &b = e.b;
  auto loop = scf::ForOp::create(
      b, e.loc, begin, end, e.ops.i64(laneCount), sums,
      [&](OpBuilder &, Location, Value at, ValueRange arguments) {
        e.enterScope();
        e.position.column = {at, 1, {}, laneCount};
        ColumnSums next(arguments);
        body(next);
        scf::YieldOp::create(b, e.loc, next);
        e.leaveScope();
      });
  llvm::copy(loop.getResults(), sums.begin());
}

/// The columns from `whole` on, which do not fill a vector.
static void emitRest(ElementEmitter &e, int64_t whole, int64_t columns,
                     ColumnSums &sums,
                     llvm::function_ref<void(ColumnSums &)> body) {
  e.enterScope();
  SmallVector<bool> on(laneCount);
  std::fill_n(on.begin(), columns - whole, true);
  Value mask = arith::ConstantOp::create(
      e.b, e.loc,
      DenseElementsAttr::get(VectorType::get({laneCount}, e.b.getI1Type()),
                             on));
  e.buffers.setMask(mask);
  e.position.column = e.indices.constant(whole);
  e.position.column.stride = 1;
  ColumnSums next(sums);
  body(next);
  for (auto [sum, value] : llvm::zip_equal(sums, next))
    sum = e.ops.select(mask, value, sum);
  e.buffers.setMask(Value());
  e.leaveScope();
}

void weft::emitColumns(ElementEmitter &e, int64_t columns, ColumnSums &sums,
                       llvm::function_ref<void(ColumnSums &)> body) {
  int64_t whole = columns - columns % laneCount;
  if (whole > 0)
    emitVectors(e, e.ops.i64(0), e.ops.i64(whole), sums, body);
  if (whole < columns)
    emitRest(e, whole, columns, sums, body);
}

Value weft::emitCut(ElementEmitter &e, int64_t count, Value part, Value parts) {
  Value product = arith::MulIOp::create(e.b, e.loc, part, e.ops.i64(count));
  return arith::DivUIOp::create(e.b, e.loc, product, parts);
}

/// Emits `vectors` for the part's range of whole vectors, and `rest`, for the
/// part that has them, for the columns that are left over.
static void emitRange(ElementEmitter &e, int64_t columns, ColumnRange range,
                      llvm::function_ref<void(Value begin, Value end)> vectors,
                      llvm::function_ref<void(int64_t whole)> rest) {
  OpBuilder &b = e.b;
  int64_t whole = columns - columns % laneCount;
  if (!range.part) {
    if (whole > 0)
      vectors(e.ops.i64(0), e.ops.i64(whole));
    if (whole < columns)
      rest(whole);
    return;
  }
  Value next = arith::AddIOp::create(b, e.loc, range.part, e.ops.i64(1));
  auto at = [&](Value part) -> Value {
    return arith::MulIOp::create(
        b, e.loc, emitCut(e, whole / laneCount, part, range.parts),
        e.ops.i64(laneCount));
  };
  if (whole > 0)
    vectors(at(range.part), at(next));
  if (whole == columns)
    return;
  Value isLast = arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::eq, next,
                                       range.parts);
  scf::IfOp::create(b, e.loc, isLast, [&](OpBuilder &, Location) {
    rest(whole);
    scf::YieldOp::create(b, e.loc);
  });
}

void weft::emitColumns(ElementEmitter &e, int64_t columns, ColumnRange range,
                       llvm::function_ref<void()> body) {
  ColumnSums none;
  auto emitBody = [&](ColumnSums &) { body(); };
  emitRange(
      e, columns, range,
      [&](Value begin, Value end) {
        emitVectors(e, begin, end, none, emitBody);
      },
      [&](int64_t whole) { emitRest(e, whole, columns, none, emitBody); });
}

void weft::emitColumnTiles(
    ElementEmitter &e, int64_t columns, ColumnRange range, int64_t tile,
    llvm::function_ref<void(Value first, TileWalk walk)> emitTile) {
  OpBuilder &b = e.b;
  ColumnSums none;
  auto tiles = [&](Value begin, Value end) {
    auto emitOne = [&](OpBuilder &, Location, Value first, ValueRange) {
      Value last = arith::AddIOp::create(b, e.loc, first, e.ops.i64(tile));
      last = arith::MinSIOp::create(b, e.loc, last, end);
      e.enterScope();
      emitTile(first, [&](llvm::function_ref<void()> body) {
        emitVectors(e, first, last, none, [&](ColumnSums &) { body(); });
      });
      scf::YieldOp::create(b, e.loc);
      e.leaveScope();
    };
    scf::ForOp::create(b, e.loc, begin, end, e.ops.i64(tile), ValueRange(),
                       emitOne);
  };
  auto rest = [&](int64_t whole) {
    emitTile(e.ops.i64(whole), [&](llvm::function_ref<void()> body) {
      emitRest(e, whole, columns, none, [&](ColumnSums &) { body(); });
    });
  };
  emitRange(e, columns, range, tiles, rest);
}
