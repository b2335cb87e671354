//===- BiasGradient.cpp - Sums over the rows of a matrix ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BiasGradient.h"

#include "weft/IR/Origin.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace weft {

/// Whether `reduce` adds up the rows of a matrix of so many rows and columns.
static bool addsUpRows(ReduceOp reduce, int64_t rows, int64_t columns) {
  ArrayRef<int64_t> shape = reduce.getOperand().getType().getShape();
  if (reduce.getKind() != sharding::Reduction::Sum ||
      reduce.getType().getNumElements() != columns ||
      reduce.getOperand().getType().getNumElements() != rows * columns)
    return false;
  // Every dimension that is left comes behind those that are added up.
  bool isLeft = false;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool isReduced = llvm::is_contained(reduce.getDims(), int64_t(dim));
    if (isReduced && isLeft && size != 1)
      return false;
    isLeft |= !isReduced && size != 1;
  }
  return true;
}

/// The value that a GEMM whose result is of `element` can write for a sum:
/// in that type, or rounded from it.
static Value valueToWrite(ReduceOp reduce, Type element) {
  Type type = reduce.getType().getElementType();
  if (type.getIntOrFloatBitWidth() <= element.getIntOrFloatBitWidth())
    return reduce.getResult();
  if (!reduce->hasOneUse())
    return {};
  auto rounding = dyn_cast<arith::TruncFOp>(*reduce->user_begin());
  if (!rounding || rounding.getType() != reduce.getType().clone(element))
    return {};
  return rounding.getResult();
}

std::optional<BiasGradient> findBiasGradient(Value matrix, int64_t rows,
                                             int64_t columns, Type element) {
  std::optional<BiasGradient> first;
  for (Operation *user : matrix.getUsers()) {
    std::optional<BiasGradient> found;
    if (isa<ReshapeOp, arith::ExtFOp>(user))
      found = findBiasGradient(user->getResult(0), rows, columns, element);
    else if (auto reduce = dyn_cast<ReduceOp>(user);
             reduce && addsUpRows(reduce, rows, columns))
      if (Value value = valueToWrite(reduce, element))
        found = {reduce, value, reduce.getType().clone(element)};
    if (found && (!first || found->sum->isBeforeInBlock(first->sum)))
      first = found;
  }
  return first;
}

bool BiasGradient::canWaitFor(GemmOp gemm) const {
  auto isBefore = [](Operation *op, Operation *other) {
    return !op || op->isBeforeInBlock(other);
  };
  return isBefore(gemm, sum) ||
         (isBefore(gemm.getLhs().getDefiningOp(), sum) &&
          isBefore(gemm.getRhs().getDefiningOp(), sum)) ||
         llvm::all_of(value.getUsers(),
                      [&](Operation *user) { return isBefore(gemm, user); });
}

void BiasGradient::replaceWith(Value written) const {
  Value result = written;
  if (value.getType() != type) {
    OpBuilder builder(written.getContext());
    builder.setInsertionPointAfterValue(written);
    result = arith::TruncFOp::create(builder, value.getLoc(), value.getType(),
                                     written);
    setOrigin(result.getDefiningOp(), getValueOrigin(value));
  }
  Value(value).replaceAllUsesWith(result);
}

} // namespace weft
