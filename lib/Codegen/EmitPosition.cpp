//===- EmitPosition.cpp - What a kernel computes at one position ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitPosition.h"

using namespace mlir;
using namespace weft;

static SmallVector<LaneIndex> operator+(SmallVector<LaneIndex> x,
                                        ArrayRef<LaneIndex> y) {
  x.append(y.begin(), y.end());
  return x;
}

/// The point of row and column in a space whose leading dimensions have an
/// element for each row.
static SmallVector<LaneIndex> pointAt(ElementEmitter &e,
                                      ArrayRef<int64_t> sizes) {
  unsigned split = *splitShape(sizes, e.position.rows, e.position.columns);
  return e.indices.delinearise(e.position.row, sizes.take_front(split)) +
         e.indices.delinearise(e.position.column, sizes.drop_front(split));
}

void weft::setColumn(ElementEmitter &e, LaneIndex column) {
  e.position.column = e.position.keptAt = column;
  e.position.ownElement = e.indices.linearise(
      {e.position.row, column}, {e.position.rows, e.position.columns});
}

Value weft::emitRowInit(ElementEmitter &e, linalg::GenericOp reduction) {
  return e.emit(
      reduction.getDpsInits().front(),
      e.indices.delinearise(e.position.row, shapeOf(reduction->getResult(0))));
}

Value weft::emitColumnInit(ElementEmitter &e, const KernelRoot &accumulation) {
  auto op = accumulation.value.getDefiningOp<linalg::GenericOp>();
  return e.emit(
      op.getDpsInits().front(),
      e.indices.delinearise(e.position.column, shapeOf(accumulation.value)));
}

Value weft::emitTerm(ElementEmitter &e, linalg::GenericOp reduction,
                     Value sum) {
  auto point = pointAt(e, reduction.getStaticLoopRanges());
  Value next = e.emitRegion(reduction, point, {sum})[0];
  return LaneOps::isLanes(sum) ? e.ops.spread(next) : next;
}

Value weft::emitFinished(ElementEmitter &e, const KernelRoot &accumulation,
                         Value sum) {
  if (!accumulation.finished)
    return sum;
  Operation *op = accumulation.value.getDefiningOp();
  e.knowColumn(op, sum);
  Value stored = e.emit(
      accumulation.finished,
      e.indices.delinearise(e.position.column, shapeOf(accumulation.finished)));
  e.forgetColumn(op);
  return stored;
}

Value weft::emitWritten(ElementEmitter &e, const KernelRoot &root) {
  return e.emit(root.value, pointAt(e, shapeOf(root.value)));
}
