//===- IntegerConvolutions.h - Convolutions by matmuls ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph has convolutions of floating-point numbers. One of integers, as of
// jnp.convolve and of quantized models, is a sum of matmuls: one for each
// element of a window, of the images as they are shifted by it.
//
// Example: x [n, 8, f] and w [3, f, o], without padding
//   x[:, 0:6] @ w[0] + x[:, 1:7] @ w[1] + x[:, 2:8] @ w[2]
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_INTEGERCONVOLUTIONS_H
#define WEFT_LIB_IMPORT_INTEGERCONVOLUTIONS_H

#include "Windows.h"

namespace weft::stablehlo {

/// Of x [n, spatial.., groups * f] and w [spatial.., f, groups * o], of one
/// type, to [n, spatial.., groups * o] of `shape` and the elements of the
/// result. Null, and a problem, if the windows are too large.
mlir::Value convolveIntegers(Conversion &c, mlir::Value x, mlir::Value w,
                             const WindowAttributes &window, int64_t groups,
                             llvm::ArrayRef<int64_t> shape);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_INTEGERCONVOLUTIONS_H
