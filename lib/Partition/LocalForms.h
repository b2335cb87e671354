//===- LocalForms.h - Ops whose local form differs --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most ops mean the same on parts: their types change and nothing else. The
// models of LocalFormOpInterface are for those that speak of sizes or of
// indices in the whole tensor.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_LOCALFORMS_H
#define WEFT_LIB_PARTITION_LOCALFORMS_H

#include "weft/IR/LocalFormOpInterface.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace weft {

/// The values that stand for the results of an op, or failure after an error.
using LocalResults = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;

/// The results of an op that means the same on parts.
LocalResults setTypes(mlir::Operation *op,
                      llvm::ArrayRef<mlir::RankedTensorType> types);

/// Puts a value in the place of the op's only result, and erases the op.
LocalResults replaceResult(mlir::Operation *op, mlir::Value value);

/// i32, or i64 where i32 does not reach up to `count`.
mlir::IntegerType integerFor(mlir::Builder &builder, int64_t count);

/// The number, as a scalar tensor of an integer type, of the first element that
/// a device holds of a dimension split over `axes` into parts of `size`.
mlir::Value createOffset(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type integer, int64_t size,
                         llvm::ArrayRef<sharding::AxisRef> axes,
                         const MeshContext &context);

/// Attention over a split sequence.
void attachLocalAttention(mlir::MLIRContext &context);
/// Indices into a split dimension: gather, scatter_add and slice.
void attachLocalGather(mlir::MLIRContext &context);
/// Elements that are taken along a split dimension: concat, pad, rearrange.
void attachLocalMoves(mlir::MLIRContext &context);

/// Windows over a split dimension: convolution, reduce_window, spread_windows.
void attachLocalWindows(mlir::MLIRContext &context);

} // namespace weft

#endif // WEFT_LIB_PARTITION_LOCALFORMS_H
