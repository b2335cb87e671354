//===- ReduceDtype.h - In which type gradients are summed -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_REDUCEDTYPE_H
#define WEFT_LIB_PARTITION_REDUCEDTYPE_H

#include "mlir/IR/Value.h"

namespace weft {

/// Whether elements are floats of 16 bits.
bool isNarrow(mlir::Value value);

/// Whether the value is the gradient of a parameter in such floats, of which
/// --weft-apply-reduce-dtype adds up the terms in f32.
bool isNarrowGradient(mlir::Value value);

} // namespace weft

#endif // WEFT_LIB_PARTITION_REDUCEDTYPE_H
