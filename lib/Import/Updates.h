//===- Updates.h - Parts of a tensor that are replaced ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that keeps what each iteration makes writes it into a stack, a slice
// for each, and another loop reads the slices. Unrolled, the stack is never
// needed: what is read is what was written. So an update stays one until the
// program is read, and slices look through it; what is used as a whole in the
// end is written once, as a concatenation of all its parts.
//
// Example: y = update(update(zeros<2x8>, a, [0, 0]), b, [1, 0])
//   slice of row 1 of y    b
//   y itself               concat a, b
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_UPDATES_H
#define WEFT_LIB_IMPORT_UPDATES_H

#include "Emitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace weft::stablehlo {

/// `base` with `update` in place of its elements from `starts` on; the update
/// must fit in.
mlir::Value updateSlice(Emitter &emit, mlir::Value base, mlir::Value update,
                        llvm::ArrayRef<int64_t> starts);

/// Where the update that `op` makes starts; nothing if it makes none. Its
/// operands are the base and the update.
std::optional<llvm::ArrayRef<int64_t>> getUpdateStarts(mlir::Operation *op);

/// The elements of `x` from `starts` to `limits`, from where they come.
mlir::Value sliceUpdated(Emitter &emit, mlir::Value x,
                         llvm::ArrayRef<int64_t> starts,
                         llvm::ArrayRef<int64_t> limits);

/// Writes the updates that are still used with ops of a graph, and removes all
/// ops that nothing uses.
void lowerUpdates(mlir::func::FuncOp function);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_UPDATES_H
