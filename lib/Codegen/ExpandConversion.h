//===- ExpandConversion.h - Numbers to integers -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions of floating-point numbers that arith leaves undefined for some
// operands, made total: beyond the largest and smallest integer of a type they
// give that integer, and 0 for NaN.

#ifndef WEFT_LIB_CODEGEN_EXPANDCONVERSION_H
#define WEFT_LIB_CODEGEN_EXPANDCONVERSION_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace weft {

/// Whether `op` is fptosi or fptoui.
bool needsConversionExpansion(mlir::Operation *op);

/// Emits the conversion `op` of x (f32 or f64, scalar or vector) to integers of
/// type `element`.
mlir::Value expandConversion(mlir::OpBuilder &builder, mlir::Operation *op,
                             mlir::Value x, mlir::Type element);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_EXPANDCONVERSION_H
