//===- BiasGradient.h - Sums over the rows of a matrix ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the sum over the rows of a matrix, which is what the gradient of a bias
// is, so that a GEMM that has the matrix in its hands can form it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_BIASGRADIENT_H
#define WEFT_LIB_SCHEDULE_BIASGRADIENT_H

#include "weft/IR/WeftOps.h"

namespace weft {

struct BiasGradient {
  ReduceOp sum;
  /// The sum, or what it is rounded to.
  mlir::Value value;
  /// The type of what a GEMM writes for it.
  mlir::RankedTensorType type;

  /// Whether what uses the sum can be put behind `gemm`, which stands where it
  /// stands. What `gemm` reads must not be computed from the sum.
  bool canWaitFor(GemmOp gemm) const;
  /// Puts `written`, of the type above, in the place of `value`.
  void replaceWith(mlir::Value written) const;
};

/// The sum over the `rows` of a tensor whose elements are those of a row-major
/// matrix, which a GEMM whose result is of `element` can write.
std::optional<BiasGradient> findBiasGradient(mlir::Value matrix, int64_t rows,
                                             int64_t columns,
                                             mlir::Type element);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_BIASGRADIENT_H
