//===- CollectiveRows.h - A collective on flat tensors ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_COLLECTIVEROWS_H
#define WEFT_LIB_PARTITION_COLLECTIVEROWS_H

#include "weft/IR/WeftOps.h"

namespace weft {

/// A collective that gathers or scatters a dimension, as one of a tensor with
/// the shards of the group in front: of [parts, elements] each member has a
/// row. An all-reduce has the elements alone.
class CollectiveRows {
public:
  explicit CollectiveRows(CommunicationOpInterface op);

  /// The operand as rows.
  mlir::Value spread(mlir::OpBuilder &b) const;
  /// The result, of the columns from `start` of rows that hold several.
  mlir::Value take(mlir::OpBuilder &b, mlir::Value rows, int64_t start) const;

  /// The shape of the result as rows of `columns`.
  llvm::SmallVector<int64_t> resultShape(int64_t columns) const {
    return shape(resultRows, resultRows * columns);
  }
  int64_t numColumns() const;

private:
  llvm::SmallVector<int64_t> shape(int64_t rows, int64_t elements) const;

  CommunicationOpInterface op;
  /// Nothing is gathered or scattered.
  bool isWhole;
  int64_t operandRows = 1, resultRows = 1;
  /// Elements of the dimensions in front of the one that is gathered or
  /// scattered.
  int64_t before = 1;
};

} // namespace weft

#endif // WEFT_LIB_PARTITION_COLLECTIVEROWS_H
