//===- NarrowFloats.h - Floats of 16 bits -----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers are stored in bf16 and f16, and computed in f32: an op rounds its
// result. Sums over dimensions are formed in f64, those of products in f32, and
// rounded once. All phases ask here which types these are.

#ifndef WEFT_IR_NARROWFLOATS_H
#define WEFT_IR_NARROWFLOATS_H

#include "mlir/IR/Types.h"

namespace weft {

/// Whether `type` is bf16 or f16.
inline bool isNarrowFloat(mlir::Type type) {
  return type.isBF16() || type.isF16();
}

} // namespace weft

#endif // WEFT_IR_NARROWFLOATS_H
