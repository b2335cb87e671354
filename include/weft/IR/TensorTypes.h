//===- TensorTypes.h - Types and sizes of values ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_TENSORTYPES_H
#define WEFT_IR_TENSORTYPES_H

#include "weft/IR/ScheduleTypes.h"

namespace weft {

/// The type of a tensor, or of one that a collective is still writing.
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  if (auto pending = mlir::dyn_cast<PendingType>(value.getType()))
    return pending.getTensor();
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Bytes of an element in memory; an i1 takes one.
inline int64_t elementBytes(mlir::ShapedType type) {
  return (type.getElementTypeBitWidth() + 7) / 8;
}
inline int64_t byteSize(mlir::ShapedType type) {
  return type.getNumElements() * elementBytes(type);
}
inline int64_t bytesOf(mlir::Value value) { return byteSize(typeOf(value)); }

} // namespace weft

#endif // WEFT_IR_TENSORTYPES_H
