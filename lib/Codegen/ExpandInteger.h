//===- ExpandInteger.h - Integer operations without traps -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integer operations that arith leaves undefined for some operands, made total
// so that no data can end a program:
//
//   x / 0 = -1 (all bits set), x % 0 = x, also for ceil and floor divisions
//   smallest / -1 = smallest, smallest % -1 = 0
//   x ^ -n = 1 / x ^ n
//   x << n = x >>u n = 0 and x >>s n = the sign, for n >= width (n unsigned)

#ifndef WEFT_LIB_CODEGEN_EXPANDINTEGER_H
#define WEFT_LIB_CODEGEN_EXPANDINTEGER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace weft {

/// Whether `op` is a division, remainder, shift or power of integers.
bool needsIntegerExpansion(mlir::Operation *op);

/// Emits `op` applied to `x` and `y` (integers or vectors of one shape) at the
/// builder's insertion point.
mlir::Value expandInteger(mlir::OpBuilder &builder, mlir::Operation *op,
                          mlir::Value x, mlir::Value y);

/// Both results of addui_extended, mului_extended or mulsi_extended: the lower
/// bits, and what is beyond them.
llvm::SmallVector<mlir::Value> expandExtended(mlir::OpBuilder &builder,
                                              mlir::Operation *op,
                                              mlir::Value x, mlir::Value y);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_EXPANDINTEGER_H
