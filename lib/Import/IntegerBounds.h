//===- IntegerBounds.h - How large integers can be --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ends `lax.fori_loop(0, jnp.minimum(n, 6), ...)`: a counter that is 6 is
// less than no number of at most 6. And what ends a loop that goes on until it
// is done or has failed, where in the last iteration it has failed if it is not
// done.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IMPORT_INTEGERBOUNDS_H
#define WEFT_LIB_IMPORT_INTEGERBOUNDS_H

#include "mlir/IR/Value.h"

namespace weft::stablehlo {

/// Whether a condition that is computed is false, whatever it is computed of.
bool isNeverTrue(mlir::Value condition);

} // namespace weft::stablehlo

#endif // WEFT_LIB_IMPORT_INTEGERBOUNDS_H
