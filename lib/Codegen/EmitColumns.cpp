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

void weft::emitColumns(ElementEmitter &e, int64_t columns, ColumnSums &sums,
                       llvm::function_ref<void(ColumnSums &)> body) {
  OpBuilder &b = e.b;
  Location loc = e.loc;
  int64_t whole = columns - columns % laneCount;
  if (whole > 0) {
    auto loop = scf::ForOp::create(
        b, loc, e.ops.i64(0), e.ops.i64(whole), e.ops.i64(laneCount), sums,
        [&](OpBuilder &, Location, Value at, ValueRange arguments) {
          e.enterScope();
          e.column = {at, 1, {}, laneCount};
          ColumnSums next(arguments);
          body(next);
          scf::YieldOp::create(b, loc, next);
          e.leaveScope();
        });
    llvm::copy(loop.getResults(), sums.begin());
  }
  if (whole == columns)
    return;
  e.enterScope();
  SmallVector<bool> on(laneCount);
  std::fill_n(on.begin(), columns - whole, true);
  e.mask = arith::ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(VectorType::get({laneCount}, b.getI1Type()), on));
  e.column = e.indices.constant(whole);
  e.column.stride = 1;
  ColumnSums next(sums);
  body(next);
  for (auto [sum, value] : llvm::zip_equal(sums, next))
    sum = e.ops.select(e.mask, value, sum);
  e.mask = Value();
  e.leaveScope();
}
