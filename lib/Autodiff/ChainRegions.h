//===- ChainRegions.h - A differentiated function as a chain ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function is cut where a single value leads from what is before to what is
// behind (weft/IR/ChainCuts.h). What depends on no argument, and what has no
// derivative, does not count.
//
// Example: a block x + mlp(x) of two products between two others. There are
// three regions; within the block x and a value of the mlp are both needed.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_AUTODIFF_CHAINREGIONS_H
#define WEFT_LIB_AUTODIFF_CHAINREGIONS_H

#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft {

/// The ops of a region, in program order.
using CheckpointRegion = std::vector<mlir::Operation *>;

/// The regions of the function that the gradient is taken of, all ops but the
/// terminator; each has a matmul or a call. One if it cannot be cut.
std::vector<CheckpointRegion> findRegions(ValueAndGradOp gradient,
                                          mlir::func::FuncOp function);

/// Whether a value depends on no argument of its function.
bool isConstantExpression(mlir::Value value);

} // namespace weft

#endif // WEFT_LIB_AUTODIFF_CHAINREGIONS_H
