//===- Rows.h - Numbers of rows of a tensor ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is the elements that differ only in their places along some dimensions,
// which what a composite does goes along.
//
// Example: x of 4x8, each of its 4 rows shifted to mean 0
//
//   Rows rows(b, x.getType(), {1});
//   Value mean = rows.mean(x);                        // of 4
//   Value centered = b.sub(x, rows.spread(mean));     // of 4x8
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_IR_ROWS_H
#define WEFT_LIB_IR_ROWS_H

#include "weft/IR/TensorBuilder.h"
#include "weft/IR/WeftOps.h"

namespace weft {

class Rows {
public:
  /// The rows of tensors of the shape of `type`.
  Rows(TensorBuilder &builder, mlir::RankedTensorType type,
       llvm::ArrayRef<int64_t> dims);

  /// One number for each row of x.
  mlir::Value sum(mlir::Value x);
  mlir::Value max(mlir::Value x);
  mlir::Value mean(mlir::Value x);
  /// The opposite: each number in all elements of its row.
  mlir::Value spread(mlir::Value numbers);

  /// One number for each index in a row, from all rows; and the opposite.
  mlir::Value sumOverRows(mlir::Value x);
  mlir::Value spreadOverRows(mlir::Value places);

private:
  mlir::Value reduce(sharding::Reduction kind, mlir::Value x,
                     llvm::ArrayRef<int64_t> along);
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> to);

  TensorBuilder &b;
  mlir::RankedTensorType type;
  /// Along a row, and the others.
  llvm::SmallVector<int64_t> dims, rest;
};

/// The type in which a composite computes: f64 if an operand is of it, else
/// f32.
mlir::Type computationTypeOf(mlir::Operation *op);

} // namespace weft

#endif // WEFT_LIB_IR_ROWS_H
