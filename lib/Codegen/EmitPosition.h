//===- EmitPosition.h - What a kernel computes at one position --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a nest computes at one row and column, in lanes: the same on every
// target. How a target walks the positions is its own.
//
// The position is that of the element emitter (LoopPosition.h).

#ifndef WEFT_LIB_CODEGEN_EMITPOSITION_H
#define WEFT_LIB_CODEGEN_EMITPOSITION_H

#include "ElementEmitter.h"

namespace weft {

/// Moves to a column of the row.
void setColumn(ElementEmitter &e, LaneIndex column);

/// The number with which a row's reduction begins.
mlir::Value emitRowInit(ElementEmitter &e, mlir::linalg::GenericOp reduction);
/// The number with which a column's sum over the rows begins.
mlir::Value emitColumnInit(ElementEmitter &e, const KernelRoot &accumulation);

/// `sum` combined with what a reduction, over columns or over rows, reads at
/// the position; in lanes if `sum` is.
mlir::Value emitTerm(ElementEmitter &e, mlir::linalg::GenericOp reduction,
                     mlir::Value sum);
/// What is stored of a sum over rows that is complete.
mlir::Value emitFinished(ElementEmitter &e, const KernelRoot &accumulation,
                         mlir::Value sum);
/// The elements of a result that are written at the position.
mlir::Value emitWritten(ElementEmitter &e, const KernelRoot &root);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_EMITPOSITION_H
