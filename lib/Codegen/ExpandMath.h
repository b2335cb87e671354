//===- ExpandMath.h - Functions without instructions ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that no x86 instruction computes, as arithmetic for scalars and for
// vectors alike, so that a kernel calls no math library and its bits depend
// neither on the library nor on the vector width of the machine.
//
// docs/Numerics.md lists the largest error of each. Infinities, NaNs, signed
// zeros and denormals come out as C99 Annex F demands.

#ifndef WEFT_LIB_CODEGEN_EXPANDMATH_H
#define WEFT_LIB_CODEGEN_EXPANDMATH_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace weft {

/// True if `op` is a function on floating-point numbers that needs
/// `expandMath`.
bool needsMathExpansion(mlir::Operation *op);

/// Emits `op` applied to `operands` (f32 or f64, scalars or vectors of one
/// shape) at the builder's insertion point.
mlir::Value expandMath(mlir::OpBuilder &builder, mlir::Operation *op,
                       mlir::ValueRange operands);

/// Emits the sine and the cosine of `angle`.
llvm::SmallVector<mlir::Value>
expandSincos(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value angle);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_EXPANDMATH_H
