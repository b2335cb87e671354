//===- LocalGather.h - Indices into a split dimension -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the indexed dimension of a gather or scatter_add is split, a device
// counts from the first element of its part, and the elements of other parts
// are none of its business. A slice along a split dimension is a gather at
// places that are known.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_LOCALGATHER_H
#define WEFT_LIB_PARTITION_LOCALGATHER_H

#include "LowerReshard.h"

namespace weft {

/// Replaces a gather from a dimension split over `axes` by one from the part,
/// with zeros for indices outside of it: a term of the sum over the axes.
/// `global` is the type of the whole operand, whose size clamps the indices.
/// Returns what replaces the op, which is erased.
mlir::Value localizeGather(GatherOp op, mlir::RankedTensorType global,
                           llvm::ArrayRef<sharding::AxisRef> axes,
                           const MeshContext &context);

/// Replaces a slice by one from the part, with zeros for what other devices
/// hold: a term of the sum over the axes that `split` lists for each dimension
/// which is neither whole nor taken whole. `global` is the type of the whole
/// operand. Returns what replaces the op, which is erased.
mlir::Value localizeSplitSlice(SliceOp op, mlir::RankedTensorType global,
                               llvm::ArrayRef<sharding::AxisList> split,
                               const MeshContext &context);

/// Makes a scatter_add to a dimension split over `axes` count from the first
/// element of the part: what belongs to others is out of range.
void localizeScatterAddIndices(ScatterAddOp op, mlir::RankedTensorType local,
                               llvm::ArrayRef<sharding::AxisRef> axes,
                               const MeshContext &context);

} // namespace weft

#endif // WEFT_LIB_PARTITION_LOCALGATHER_H
