//===- RaiseSummed.h - What is done to partial sums -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a partial sum is used, something may be done to it first, such as a
// factor of a learning rate. It can be done where the partial sum is made, and
// then the collective can begin there as well.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_RAISESUMMED_H
#define WEFT_LIB_PARTITION_RAISESUMMED_H

#include "mlir/IR/Block.h"

namespace weft {

/// Moves what all-reduces of a block sum up, as far as it is computed element
/// by element of values that nothing else reads.
void raiseSummed(mlir::Block &block);

} // namespace weft

#endif // WEFT_LIB_PARTITION_RAISESUMMED_H
