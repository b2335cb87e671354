//===- BufferParts.cpp - Tensors that are parts of others -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/BufferParts.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

bool weft::isPartView(Operation *op) {
  return isa_and_present<ConcatOp, SliceOp>(op);
}

static std::optional<SmallVector<BufferPart>> findParts(ConcatOp op) {
  for (int64_t size : op.getType().getShape().take_front(op.getDim()))
    if (size != 1)
      return std::nullopt;
  SmallVector<BufferPart> parts;
  int64_t offset = 0;
  for (Value operand : op.getOperands()) {
    parts.push_back({operand, op.getResult(), offset});
    offset += bytesOf(operand);
  }
  return parts;
}

/// A range of the first dimension that is not taken at one index, and all of
/// those behind it.
static std::optional<SmallVector<BufferPart>> findParts(SliceOp op) {
  ArrayRef<int64_t> whole = typeOf(op.getOperand()).getShape(),
                    part = typeOf(op.getResult()).getShape();
  int64_t index = 0;
  bool isRange = false;
  for (auto [dim, size] : llvm::enumerate(part)) {
    if (op.getStrides()[dim] != 1 || (isRange && size != whole[dim]))
      return std::nullopt;
    isRange |= size != 1;
    index = index * whole[dim] + op.getStarts()[dim];
  }
  return SmallVector<BufferPart>{
      {op.getResult(), op.getOperand(), index * elementBytes(op.getType())}};
}

std::optional<SmallVector<BufferPart>> weft::findParts(Operation *op) {
  if (auto concat = dyn_cast<ConcatOp>(op))
    return ::findParts(concat);
  if (auto slice = dyn_cast<SliceOp>(op))
    return ::findParts(slice);
  return std::nullopt;
}
