//===- GeluExpression.h - Element-wise ops that are GELU --------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the ops that compute GELU of a value, or what its derivative makes of a
// cotangent. What they compute is compared as polynomials (GeluPolynomial.h),
// so the order of operands and the grouping of operations do not matter, and
// neither do conversions between floating-point types. Constants may be off by
// their rounding to the type they have.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_GELUEXPRESSION_H
#define WEFT_LIB_SCHEDULE_GELUEXPRESSION_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace weft {

struct GeluExpression {
  /// What GELU is of.
  mlir::Value x;
  /// The value of the expression; its type is that of x.
  mlir::Value result;
  /// The ops from x, and from the cotangent, to the result, operands first.
  /// Constants are not among them.
  llvm::SetVector<mlir::Operation *> ops;

  /// Whether nothing but its ops uses what they compute beside the result.
  bool isClosed() const;
};

/// result = gelu(x).
std::optional<GeluExpression> findGelu(mlir::Value x);

/// result = cotangent * gelu'(x). Nothing but its ops uses the cotangent or
/// what it goes into; a barrier before x that waits for it is none. `leaves`
/// are values that x may be though element-wise ops compute them.
std::optional<GeluExpression>
findGeluGrad(mlir::Value cotangent, const llvm::DenseSet<mlir::Value> &leaves);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_GELUEXPRESSION_H
