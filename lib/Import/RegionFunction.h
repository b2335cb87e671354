//===- RegionFunction.h - What a region of comparisons computes -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The regions of argmax and sort compare numbers and select some of them. What
// such a region computes depends on the order of its arguments only, and on
// their order to the constants 0 and NaN, so that it is known from its results
// for a few numbers. Other libraries and versions write it with other ops.
//
// Example: `select(a < b, a, b)` of (1, 2) is (1).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_REGIONFUNCTION_H
#define WEFT_LIB_IMPORT_REGIONFUNCTION_H

#include "mlir/IR/Region.h"

#include <optional>

namespace weft::stablehlo {

/// The results of the region for these arguments, booleans as 0 and 1. None if
/// it has other ops than comparisons, selections, logic and the constants 0 and
/// NaN.
std::optional<llvm::SmallVector<double>>
evaluate(mlir::Region &region, llvm::ArrayRef<double> arguments);

/// Numbers of every order that such a region can tell apart: negative and
/// positive ones, zeros and NaNs as far as the type has them.
llvm::SmallVector<double> samplesOf(mlir::Type element);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_REGIONFUNCTION_H
