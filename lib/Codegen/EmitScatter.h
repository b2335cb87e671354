//===- EmitScatter.h - Sums at indices --------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The nest of a scatter_add: clears the result, then takes the indices one
// after the other, in row-major order, and adds what belongs to each; so the
// order of the sums does not depend on the machine. The dimensions behind the
// last one that an index depends on are added in lanes.
//
// Example: updates tensor<4x3x8xf32>, indices tensor<4x3xi32>, dim = 0: 12 rows
// of 8 columns.

#ifndef WEFT_LIB_CODEGEN_EMITSCATTER_H
#define WEFT_LIB_CODEGEN_EMITSCATTER_H

#include "ElementEmitter.h"

#include "weft/IR/WeftOps.h"

namespace weft {

/// Emits the nest; `result` points to the buffer of the sums.
void emitScatterAdd(ElementEmitter &e, ScatterAddOp op, mlir::Value result);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_EMITSCATTER_H
