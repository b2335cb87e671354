//===- KeptRows.h - Rows that later passes read again -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers of a row for values that several passes need: the first pass that has
// a value fills its buffer, and the passes behind that one read it.

#ifndef WEFT_LIB_CODEGEN_KEPTROWS_H
#define WEFT_LIB_CODEGEN_KEPTROWS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace weft {

class KeptRows {
public:
  void add(mlir::Value value, mlir::Value buffer) { buffers[value] = buffer; }
  bool has(mlir::Value value) const { return buffers.contains(value); }
  /// Null if the value is not kept.
  mlir::Value bufferOf(mlir::Value value) const {
    return buffers.lookup(value);
  }
  bool isFilled(mlir::Value value) const { return filled.contains(value); }

  /// The current pass stores the value.
  void fill(mlir::Value value) { filling.insert(value); }
  void finishPass() {
    filled.insert(filling.begin(), filling.end());
    filling.clear();
  }
  /// Behind a nest.
  void clear() {
    buffers.clear();
    filled.clear();
  }

private:
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseSet<mlir::Value> filled, filling;
};

} // namespace weft

#endif // WEFT_LIB_CODEGEN_KEPTROWS_H
