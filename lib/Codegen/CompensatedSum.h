//===- CompensatedSum.h - Sums of f64 without their rounding ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums of narrower numbers are formed in f64, where rounding does not count.
// A sum of f64 carries beside it what its additions have rounded off (Ogita,
// Rump and Oishi, "Accurate Sum and Dot Product", 2005), which is added at the
// end. The additions that find it are no part of the chain from one term to the
// next, so that a sum takes hardly longer.

#ifndef WEFT_LIB_CODEGEN_COMPENSATEDSUM_H
#define WEFT_LIB_CODEGEN_COMPENSATEDSUM_H

#include "LaneOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace weft {

/// Whether `reduction` is a sum of terms that have all the digits of f64.
bool isCompensated(mlir::linalg::GenericOp reduction);

/// A number, or lanes of them, and what has been rounded off so far.
struct CompensatedSum {
  mlir::Value sum, error;
};

/// `before` with a term added; `next` is the addition of the term to its sum.
CompensatedSum addTerm(mlir::OpBuilder &b, CompensatedSum before,
                       mlir::Value next);
/// The lanes as one number, added up as LaneOps::reduceLanes does.
CompensatedSum addLanes(mlir::OpBuilder &b, CompensatedSum lanes);
/// The sum with what was rounded off.
mlir::Value totalOf(mlir::OpBuilder &b, CompensatedSum sum);

} // namespace weft

#endif // WEFT_LIB_CODEGEN_COMPENSATEDSUM_H
