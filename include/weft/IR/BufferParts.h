//===- BufferParts.h - Tensors that are parts of others ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a schedule a concat and a slice do nothing: the operands of a concat lie
// side by side in the buffer of its result, and a slice is a range of a buffer.
// What is computed of pieces that do not lie so is in kernels.
//
//   %c = weft.concat %a, %b dim = 0 : (tensor<16xf32>, tensor<32xf32>) -> ...
//
// makes %a the part of %c from byte 0 on, and %b that from byte 64 on.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_BUFFERPARTS_H
#define WEFT_IR_BUFFERPARTS_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace weft {

/// Whether the op is a concat or a slice. False for null.
bool isPartView(mlir::Operation *op);

/// A tensor and the byte at which it begins in another one.
struct BufferPart {
  mlir::Value part, whole;
  int64_t offset;
};

/// The parts that a concat or a slice is of; nothing if one of them does not
/// lie in one piece.
std::optional<llvm::SmallVector<BufferPart>> findParts(mlir::Operation *op);

} // namespace weft

#endif // WEFT_IR_BUFFERPARTS_H
