//===- ShapeChecks.h - Dimensions and result shapes -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the verifiers of the tensor ops and the collectives have in common:
// lists of dimensions, and a result shape that the operands determine.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IR_SHAPECHECKS_H
#define WEFT_LIB_IR_SHAPECHECKS_H

#include "weft/IR/WeftAttrs.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace weft {

/// A dimension that a result must have. `reason`, if not empty, is printed in
/// parentheses: `result dim 1 must be 16 (dim 0 of rhs), got 12`.
struct ExpectedDim {
  int64_t size;
  std::string reason = {};
};

/// Reports the first dimension of `type` that is not the expected one.
mlir::LogicalResult verifyResultShape(mlir::Operation *op,
                                      mlir::RankedTensorType type,
                                      llvm::ArrayRef<ExpectedDim> expected);

/// Reports a dimension of the list `name` that is not in [0, rank).
mlir::LogicalResult verifyDimsInRange(mlir::Operation *op, llvm::StringRef name,
                                      llvm::ArrayRef<int64_t> dims,
                                      int64_t rank);

/// As above, and requires the list to be strictly increasing.
mlir::LogicalResult verifyIncreasingDims(mlir::Operation *op,
                                         llvm::StringRef name,
                                         llvm::ArrayRef<int64_t> dims,
                                         int64_t rank);

/// Checks the map of an op that moves elements of `dim` of one tensor, parts of
/// a group of `members`.
mlir::LogicalResult verifyElementMap(mlir::Operation *op, ElementMapAttr map,
                                     int64_t members,
                                     mlir::RankedTensorType operand,
                                     mlir::RankedTensorType result,
                                     int64_t dim);

} // namespace weft

#endif // WEFT_LIB_IR_SHAPECHECKS_H
