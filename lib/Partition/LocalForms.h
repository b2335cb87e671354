//===- LocalForms.h - Ops whose local form differs --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most ops mean the same on parts: their types change and nothing else. These
// speak of sizes or of places in the whole tensor.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_LOCALFORMS_H
#define WEFT_LIB_PARTITION_LOCALFORMS_H

#include "LowerReshard.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace weft {

/// Gives a constant of equal elements the type `local`. Fails, with an error,
/// for other constants of which devices would hold different parts.
mlir::LogicalResult localizeConstant(mlir::arith::ConstantOp op,
                                     mlir::RankedTensorType local);

/// Limits the slice to the part where it takes a dimension whole. The operand
/// has its local type.
void localizeSlice(SliceOp op, mlir::RankedTensorType local);

/// i32, or i64 where i32 does not reach up to `count`.
mlir::IntegerType integerFor(mlir::Builder &builder, int64_t count);

/// The number, as a scalar tensor of an integer type, of the first element that
/// a device holds of a dimension split over `axes` into parts of `size`.
mlir::Value createOffset(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type integer, int64_t size,
                         llvm::ArrayRef<sharding::AxisRef> axes,
                         const MeshContext &context);

/// Replaces an iota along a dimension split over `axes` by a local one plus
/// the device's offset. Returns what replaces it; the op is erased.
mlir::Value localizeIota(IotaOp op, mlir::RankedTensorType local,
                         llvm::ArrayRef<sharding::AxisRef> axes,
                         const MeshContext &context);

/// Replaces a mask of a dimension split over `axes` by a comparison of the
/// places that the device holds. Returns what replaces it; the op is erased.
mlir::Value localizeMask(MaskPaddingOp op, mlir::RankedTensorType local,
                         llvm::ArrayRef<sharding::AxisRef> axes,
                         const MeshContext &context);

} // namespace weft

#endif // WEFT_LIB_PARTITION_LOCALFORMS_H
