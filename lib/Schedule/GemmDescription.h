//===- GemmDescription.h - A GEMM to be made again --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a `weft.gemm` multiplies, as a value: to be transposed, and made again
// with an epilogue.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_GEMMDESCRIPTION_H
#define WEFT_LIB_SCHEDULE_GEMMDESCRIPTION_H

#include "weft/IR/WeftOps.h"

namespace weft {

struct GemmDescription {
  explicit GemmDescription(GemmOp gemm);

  /// The same elements at the same offsets, seen as out^T = rhs^T lhs^T.
  GemmDescription transposed() const;
  /// Whether the elements of a row of the result lie side by side, as epilogues
  /// need it.
  bool hasContiguousRows() const { return outStrides[2] == 1; }

  /// The GEMM with an epilogue, what that reads, and the type of what it
  /// writes beside the result.
  GemmOp create(mlir::OpBuilder &builder, mlir::Location loc,
                GemmEpilogue epilogue, mlir::Value operand,
                mlir::Type beside) const;

  mlir::Value lhs, rhs;
  int64_t batch, m, n, k;
  llvm::SmallVector<int64_t, 3> lhsStrides, rhsStrides, outStrides;
  mlir::RankedTensorType type;
  GemmPrecision precision;
};

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_GEMMDESCRIPTION_H
