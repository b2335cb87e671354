//===- CompositeOps.cpp - Verifiers of the composites ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"
#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

/// At least one, in order.
static LogicalResult verifyRowDims(Operation *op, ArrayRef<int64_t> dims,
                                   RankedTensorType type) {
  if (dims.empty())
    return op->emitOpError("dims must name a dim of the operand, got none");
  return verifyIncreasingDims(op, "dims", dims, type.getRank());
}

LogicalResult SoftmaxOp::verify() {
  return verifyRowDims(*this, getDims(), getType());
}

LogicalResult LogSoftmaxOp::verify() {
  return verifyRowDims(*this, getDims(), getType());
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

static std::string printShape(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "[";
  llvm::interleaveComma(shape, stream);
  stream << "]";
  return text;
}

/// `value`, if there is one, has the operand's sizes along the dims.
template <typename Op>
static LogicalResult verifyParameter(Op op, StringRef name,
                                     TypedValue<RankedTensorType> value) {
  if (!value)
    return success();
  SmallVector<int64_t> sizes;
  for (int64_t dim : op.getDims())
    sizes.push_back(op.getType().getDimSize(dim));
  if (value.getType().getShape() == ArrayRef(sizes))
    return success();
  return op.emitOpError() << name
                          << " must have the operand's sizes along dims "
                          << printShape(op.getDims()) << ", "
                          << printShape(sizes) << ", got "
                          << printShape(value.getType().getShape());
}

template <typename Op> static LogicalResult verifyNorm(Op op) {
  if (failed(verifyRowDims(op, op.getDims(), op.getType())))
    return failure();
  double epsilon = op.getEpsilon().convertToDouble();
  if (!(epsilon >= 0))
    return op.emitOpError("epsilon must be at least 0, got ") << epsilon;
  return verifyParameter(op, "scale", op.getScale());
}

LogicalResult LayerNormOp::verify() {
  if (failed(verifyNorm(*this)))
    return failure();
  return verifyParameter(*this, "bias", getBias());
}

LogicalResult RmsNormOp::verify() { return verifyNorm(*this); }

//===----------------------------------------------------------------------===//
// cross_entropy
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyOp::verify() {
  RankedTensorType logits = getLogits().getType();
  int64_t dim = getDim();
  if (failed(verifyDimsInRange(*this, "dim", dim, logits.getRank())))
    return failure();
  SmallVector<int64_t> shape(logits.getShape());
  shape.erase(shape.begin() + dim);
  auto verifyShape = [&](StringRef name, RankedTensorType type) {
    if (type.getShape() == ArrayRef(shape))
      return success();
    return LogicalResult(
        emitOpError() << name << " must have the shape of the logits without "
                      << "dim " << dim << ", " << printShape(shape) << ", got "
                      << printShape(type.getShape()));
  };
  if (failed(verifyShape("labels", getLabels().getType())) ||
      failed(verifyShape("result", getType())))
    return failure();
  if (getType().getElementType() != logits.getElementType())
    return emitOpError("result must have the element type of the logits, ")
           << logits.getElementType() << ", got " << getType().getElementType();
  return success();
}
