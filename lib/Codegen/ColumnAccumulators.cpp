//===- ColumnAccumulators.cpp - Sums over rows, while they are made -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnAccumulators.h"
#include "CompensatedSum.h"
#include "EmitPosition.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace weft;

Value weft::allocateElements(OpBuilder &b, Location loc, Block *entry,
                             Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  Type type = LLVM::LLVMPointerType::get(b.getContext());
  Value number = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(count));
  return LLVM::AllocaOp::create(b, loc, type, getStorageType(element), number,
                                /*alignment=*/64);
}

static linalg::GenericOp opOf(const KernelRoot &root) {
  return root.value.getDefiningOp<linalg::GenericOp>();
}

static Type elementOf(const KernelRoot &root) {
  return getElementTypeOrSelf(root.value.getType());
}

void ColumnAccumulators::allocate(const ColumnLoop &loop, int64_t columns) {
  for (const KernelRoot &root : loop.accumulations) {
    auto make = [&] {
      return allocateElements(e.b, e.loc, entry, elementOf(root),
                              llvm::alignTo(columns, laneCount));
    };
    buffers[root.result] = {make(),
                            isCompensated(opOf(root)) ? make() : Value()};
  }
}

LaneIndex ColumnAccumulators::position() {
  if (!first)
    return e.position.column;
  Value base = arith::SubIOp::create(e.b, e.loc, e.position.column.base, first);
  return {base, e.position.column.stride, {}, 1};
}

void ColumnAccumulators::clear(const ColumnLoop &loop) {
  for (const KernelRoot &root : loop.accumulations) {
    const Buffers &to = buffers.at(root.result);
    e.store(emitColumnInit(e, root), to.sums, position());
    if (to.errors)
      e.store(e.ops.constant(e.b.getF64FloatAttr(0)), to.errors, position());
  }
}

void ColumnAccumulators::addTerms(const ColumnLoop &loop,
                                  std::vector<ElementStore> &stores) {
  for (const KernelRoot &root : loop.accumulations) {
    const Buffers &to = buffers.at(root.result);
    LaneIndex at = position();
    Value sum = e.load(to.sums, elementOf(root), at);
    Value next = emitTerm(e, opOf(root), sum);
    stores.push_back({next, to.sums, at});
    if (!to.errors)
      continue;
    Value error = e.load(to.errors, elementOf(root), at);
    stores.push_back({addTerm(e.b, {sum, error}, next).error, to.errors, at});
  }
}

void ColumnAccumulators::finish(const ColumnLoop &loop) {
  e.position.ownElement = {};
  for (const KernelRoot &root : loop.accumulations) {
    const Buffers &from = buffers.at(root.result);
    Value sum = e.load(from.sums, elementOf(root), position());
    if (from.errors)
      sum =
          totalOf(e.b, {sum, e.load(from.errors, elementOf(root), position())});
    e.store(emitFinished(e, root, sum), results[root.result],
            e.position.column);
  }
}
