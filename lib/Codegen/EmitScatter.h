//===- EmitScatter.h - Sums at indices --------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The nest of a scatter_add. The sums of floats are formed in more digits than
// the table has, in the order of the updates:
//
// - of a small table in f64 on the stack, rounded at the end;
// - of others for some thousand updates at a time, which are sorted by the rows
//   of the table that they are for: a row is read, added to in registers, and
//   written once. So an element is rounded once for each of these portions,
//   not for each update.
//
// Integers are added one by one. The dimensions behind the last one that an
// index depends on are added in lanes.
//
// Example: updates tensor<4x3x8xf32>, indices tensor<4x3xi32>, dim = 0: 12 rows
// of 8 columns.

#ifndef WEFT_LIB_CODEGEN_EMITSCATTER_H
#define WEFT_LIB_CODEGEN_EMITSCATTER_H

#include "ElementEmitter.h"

#include "weft/IR/WeftOps.h"

namespace weft {

/// Updates that are sorted at a time.
inline constexpr int64_t sortedUpdates = 16384;

/// Emits the nest; `result` points to the buffer of the sums. Memory on the
/// stack is taken where `entry`, of the function, begins.
void emitScatterAdd(ElementEmitter &e, ScatterAddOp op, mlir::Value result,
                    mlir::Block *entry);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_EMITSCATTER_H
