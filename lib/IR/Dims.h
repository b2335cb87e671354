//===- Dims.h - Lists of dimensions and sizes -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IR_DIMS_H
#define WEFT_LIB_IR_DIMS_H

#include "weft/IR/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

namespace weft {

using Dims = llvm::SmallVector<int64_t>;

inline Dims shapeOf(mlir::Value value) {
  return Dims(typeOf(value).getShape());
}

/// begin, begin + 1, ..., begin + size - 1.
inline Dims dimRange(int64_t begin, int64_t size) {
  return llvm::to_vector(llvm::seq(begin, begin + size));
}

/// Elements of `size` with `dilation - 1` others between neighbours.
inline int64_t dilated(int64_t size, int64_t dilation) {
  return (size - 1) * dilation + 1;
}

} // namespace weft

#endif // WEFT_LIB_IR_DIMS_H
