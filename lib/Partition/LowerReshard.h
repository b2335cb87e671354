//===- LowerReshard.h - Reshards as collectives -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_LOWERRESHARD_H
#define WEFT_LIB_PARTITION_LOWERRESHARD_H

#include "weft/IR/LocalFormOpInterface.h"
#include "weft/IR/WeftOps.h"
#include "weft/Sharding/ReshardPlanner.h"

#include "mlir/IR/Builders.h"

namespace weft {

/// Emits the collectives of `plan` on the local part `value` of a tensor of
/// type `global`, and returns the local part after it. The terms of the source,
/// if it holds some, are combined by `reduction`.
mlir::Value lowerReshard(mlir::OpBuilder &builder, mlir::Location loc,
                         const MeshContext &context,
                         const sharding::ReshardPlan &plan, mlir::Value value,
                         mlir::RankedTensorType global,
                         sharding::Reduction reduction, mlir::StringAttr cause);

} // namespace weft

#endif // WEFT_LIB_PARTITION_LOWERRESHARD_H
