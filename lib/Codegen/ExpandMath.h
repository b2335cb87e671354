//===- ExpandMath.h - Transcendental functions ------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transcendental functions as straight-line arithmetic, for scalars and for
// vectors alike, so that a kernel calls no math library and its bits depend
// neither on the library nor on the vector width of the machine.
//
// Largest errors found by test/Unit/Codegen/MathTest.cpp against a more precise
// library, in units in the last place (f32, f64): exp 2, expm1 3, log 2,
// log1p 3, tanh 3, erf 3 (f32 only), rsqrt 2. Infinities, NaNs, signed zeros
// and denormals come out as C99 Annex F demands.

#ifndef WEFT_LIB_CODEGEN_EXPANDMATH_H
#define WEFT_LIB_CODEGEN_EXPANDMATH_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace weft {

/// True if `op` is a function that needs `expandMath` because no x86
/// instruction computes it.
bool needsMathExpansion(mlir::Operation *op);

/// True if there is an expansion of `op` at its own element type (bf16 counts
/// as f32).
bool hasMathExpansion(mlir::Operation *op);

/// Emits `op` applied to `operands` (f32 or f64, scalars or vectors of one
/// shape) at the builder's insertion point. `op` must have an expansion.
mlir::Value expandMath(mlir::OpBuilder &builder, mlir::Operation *op,
                       mlir::ValueRange operands);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_EXPANDMATH_H
