//===- GridLanes.cpp - Widths of vectors on a GPU -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ElementEmitter.h"
#include "GridPlanner.h"

#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;
using namespace weft;

int64_t weft::elementBytes(Value tensor) {
  Type storage = getStorageType(getElementTypeOrSelf(tensor.getType()));
  return storage.getIntOrFloatBitWidth() / 8;
}

/// The widest element among the tensors of at least `elements` elements that
/// are read to compute `value`. What is smaller is read for many of them, and
/// the caches have it.
static void findWidest(Value value, int64_t elements, int64_t &bytes,
                       DenseSet<Value> &seen) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !seen.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (!op) {
    if (type.getNumElements() >= elements)
      bytes = std::max(bytes, elementBytes(value));
    return;
  }
  for (Value operand : op->getOperands())
    findWidest(operand, elements, bytes, seen);
}

int64_t weft::widestBytes(Value value, int64_t elements, int64_t atLeast) {
  DenseSet<Value> seen;
  findWidest(value, elements, atLeast, seen);
  return atLeast;
}

int64_t weft::wideLanes(int64_t rows, ArrayRef<const ColumnLoop *> loops) {
  int64_t bytes = 2;
  DenseSet<Value> seen;
  for (const ColumnLoop *loop : loops) {
    if (loop->columns == 1)
      continue;
    int64_t elements = rows * loop->columns;
    for (linalg::GenericOp reduction : loop->reductions)
      findWidest(reduction->getResult(0), elements, bytes, seen);
    for (const KernelRoot &root : loop->accumulations)
      findWidest(root.value, elements, bytes, seen);
    for (const KernelRoot &root : loop->writes) {
      bytes = std::max(bytes, elementBytes(root.value));
      findWidest(root.value, elements, bytes, seen);
    }
  }
  return vectorBytes / bytes;
}

int64_t weft::chooseLanes(int64_t rows, ArrayRef<const ColumnLoop *> loops) {
  int64_t columns = 0;
  for (const ColumnLoop *loop : loops)
    if (loop->columns > 1)
      columns = std::gcd(columns, loop->columns);
  return std::gcd(columns == 0 ? 1 : columns, wideLanes(rows, loops));
}

bool weft::wantsEdges(const KernelNest &nest, int64_t lanes, int64_t wide) {
  constexpr int64_t fewColumns = 256;
  if (lanes * 4 > wide)
    return false;
  int64_t columns = 1;
  for (const auto &pass : nest.passes)
    for (const ColumnLoop &loop : pass) {
      if (loop.columns == 1)
        continue;
      if (loop.columns < fewColumns || !loop.accumulations.empty() ||
          (columns > 1 && columns != loop.columns))
        return false;
      columns = loop.columns;
    }
  return columns > 1;
}

SmallVector<const ColumnLoop *> weft::loopsOf(const KernelNest &nest) {
  SmallVector<const ColumnLoop *> loops;
  for (const auto &pass : nest.passes)
    for (const ColumnLoop &loop : pass)
      loops.push_back(&loop);
  return loops;
}

int64_t weft::longestRow(const KernelNest &nest) {
  int64_t columns = 1;
  for (const auto &pass : nest.passes)
    for (const ColumnLoop &loop : pass)
      columns = std::max(columns, loop.columns);
  return columns;
}
