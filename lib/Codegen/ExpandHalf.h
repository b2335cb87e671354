//===- ExpandHalf.h - Half precision in integers ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between f32 and f16, which is carried as the i16 of its bits
// (LaneOps.h). Written in integers, they are the same numbers on processors
// without instructions for them, and call no library.

#ifndef WEFT_LIB_CODEGEN_EXPANDHALF_H
#define WEFT_LIB_CODEGEN_EXPANDHALF_H

#include "mlir/IR/Builders.h"

namespace weft {

/// The f32 that has the value of an f16 with these bits (i16, scalar or
/// vector). Exact; a NaN keeps its sign and its payload.
mlir::Value extendHalf(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value bits);

/// The bits of x (f32, scalar or vector) rounded to the nearest f16, ties to
/// even: infinite from 65520 on, a multiple of 2^-24 below 2^-14. A NaN becomes
/// the quiet NaN 0x7e00 with its sign.
mlir::Value truncateToHalf(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value x);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_EXPANDHALF_H
