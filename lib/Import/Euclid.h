//===- Euclid.h - Loops that find greatest common divisors ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing but values ends Euclid's algorithm, but the number of iterations that
// it may need is known: so it can be unrolled, whoever has written it.
//
//   while any(y != 0):  x, y = where(y != 0, y, x), where(y != 0, x rem y, 0)
//
// The body may also have the larger of the two first, as that of jnp.gcd.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_EUCLID_H
#define WEFT_LIB_IMPORT_EUCLID_H

#include "Conversion.h"

namespace weft::stablehlo {

/// Whether a loop carries two tensors of integers, x and y, computes the above
/// and goes on while any y is not zero.
bool isEuclid(mlir::Operation *loop);

/// What such a loop ends with, wherever it ends.
Values runEuclid(Conversion &c);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_EUCLID_H
