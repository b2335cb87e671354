//===- StridedValues.h - Values as their memory is ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transposes and reshapes around an instruction over strides become these:
// views of what is before them, and of what is behind.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_STRIDEDVALUES_H
#define WEFT_LIB_SCHEDULE_STRIDEDVALUES_H

#include "weft/Schedule/GemmLayout.h"

#include "mlir/IR/Value.h"

namespace weft {

/// A tensor in memory and how an operand of an op sees it.
struct OperandView {
  mlir::Value base;
  StridedView view;
};

/// The transposes and reshapes behind a result, each the only user of the one
/// before, and how the last one's memory looks to the op.
struct ResultView {
  llvm::SmallVector<mlir::Operation *> chain;
  StridedView view;
};

/// Looks through transposes and reshapes as long as strides can express them.
OperandView viewOf(mlir::Value value);

/// Views of a result through no, one, two, ... of the transposes and reshapes
/// that follow it.
llvm::SmallVector<ResultView> resultViews(mlir::Value result);

/// Erases transposes and reshapes from `value` backwards that have no use left.
void eraseDeadViews(mlir::Value value);

/// Replaces the last of `chain`, or `op` if there is none, by `result`, which
/// has the same elements in memory. Erases `op`, the chain, and views of
/// operands that have no use left.
void replaceWithView(mlir::Operation *op,
                     llvm::ArrayRef<mlir::Operation *> chain,
                     mlir::Value result);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_STRIDEDVALUES_H
