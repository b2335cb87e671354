//===- PaddingOps.cpp - Ops on padded dimensions --------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/WeftOps.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace weft;

LogicalResult MaskPaddingOp::verify() {
  RankedTensorType type = getType();
  int64_t dim = getDim(), size = getSize();
  if (dim < 0 || dim >= type.getRank())
    return emitOpError() << "dim " << dim << " is out of range for rank "
                         << type.getRank();
  if (size < 0 || size > type.getDimSize(dim))
    return emitOpError() << "size must be between 0 and the "
                         << type.getDimSize(dim) << " elements of dim " << dim
                         << ", got " << size;
  if (getValue().getType() != type.getElementType())
    return emitOpError("value must have the element type ")
           << type.getElementType() << ", got " << getValue().getType();
  return success();
}

sharding::ShardingRule MaskPaddingOp::getShardingRule() {
  RankedTensorType type = getType();
  return sharding::elementwiseRule(type.getShape(), {size_t(type.getRank())},
                                   /*numResults=*/1);
}

/// A sum over devices would have the value as often as there are devices.
sharding::Linearity MaskPaddingOp::getLinearity() {
  return matchPattern(getValue(), m_AnyZeroFloat()) ||
                 matchPattern(getValue(), m_Zero())
             ? sharding::Linearity::Linear
             : sharding::Linearity::NotLinear;
}
