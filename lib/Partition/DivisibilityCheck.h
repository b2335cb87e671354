//===- DivisibilityCheck.h - Do axes divide dimensions? ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_DIVISIBILITYCHECK_H
#define WEFT_LIB_PARTITION_DIVISIBILITYCHECK_H

#include "weft/Sharding/Mesh.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft {

/// Reports every dimension of every value that its axes do not divide, with
/// the nearest specs that would. Fails if there is one.
mlir::LogicalResult checkDivisibility(mlir::ModuleOp module,
                                      const sharding::Mesh &mesh);

/// Reports every dimension of every value that has fewer elements than shards,
/// with the nearest specs that would divide it. Fails if there is one.
mlir::LogicalResult checkEveryShardHasElements(mlir::ModuleOp module,
                                               const sharding::Mesh &mesh);

/// The axis lists next to `axes`, fewer shards first, that divide `size`: the
/// longest prefix that does, and that with as much as possible of the axis
/// after it. Example: size 10, {"data"} of size 4 -> {}, {"data":(1)2}.
llvm::SmallVector<sharding::AxisList, 2>
nearestLegalAxes(llvm::ArrayRef<sharding::AxisRef> axes, int64_t size);

} // namespace weft

#endif // WEFT_LIB_PARTITION_DIVISIBILITYCHECK_H
