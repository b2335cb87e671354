//===- StoredValues.h - What is written to memory ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which values of a program of local shapes will be written to memory, as far
// as that can be said before kernels are made.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_STOREDVALUES_H
#define WEFT_LIB_PARTITION_STOREDVALUES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace weft {

/// Whether an op becomes no part of a kernel with others: products, attention
/// and loops.
bool standsAlone(mlir::Operation *op);

/// The result of a view, such as a reshape, that is the value that it uses;
/// none where something else uses it.
mlir::Value viewOf(mlir::OpOperand &use);

/// The values of a block that are written to memory: what a kernel makes is if
/// something else reads it. What kernels keep for later ones, they can
/// recompute.
class StoredValues {
public:
  explicit StoredValues(mlir::Block &block);

  bool contains(mlir::Value value) const { return !inKernels.contains(value); }

private:
  llvm::DenseSet<mlir::Value> inKernels;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_STOREDVALUES_H
