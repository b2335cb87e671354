//===- GatherDims.h - Dimensions of gather and scatter_add ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// weft.gather and weft.scatter_add relate the same three tensors: a table, the
// indices, and what is taken at them. A gather reads the table and makes what
// is taken; scatter_add reads what is taken and makes the table.
//
// Example: table tensor<4x50x8>, indices tensor<4x3>, dim = 1, batching [0] x
// [0], taken tensor<4x3x8>
//   table dims 0, 1, 2 are taken dims 0, none, 2
//   index dims 0, 1    are taken dims 0, 1
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_GATHERDIMS_H
#define WEFT_IR_GATHERDIMS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace weft {

struct GatherDims {
  /// The dimension of the table that is indexed.
  int64_t dim;
  int64_t tableRank;
  int64_t indicesRank;
  /// Dimensions that are walked together, pair by pair.
  llvm::ArrayRef<int64_t> tableBatching;
  llvm::ArrayRef<int64_t> indicesBatching;

  /// Index dimensions that are not batching, in order; they take the place of
  /// `dim`.
  llvm::SmallVector<int64_t> getIndexDims() const;
  int64_t getTakenRank() const;
  /// The dimension of what is taken that table dimension `tableDim`, not `dim`,
  /// becomes.
  int64_t getTakenDim(int64_t tableDim) const;
  /// The dimension of what is taken for each dimension of the indices.
  llvm::SmallVector<int64_t> getTakenDimsOfIndices() const;
};

} // namespace weft

#endif // WEFT_IR_GATHERDIMS_H
