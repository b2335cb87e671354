//===- ElementMoves.h - What ops move along dimensions ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slices, concatenations and paddings take elements to other positions of a
// dimension. Where both sides of it are split over the same axes, only those
// elements have to be sent that change the device (weft.exchange). So it is
// with windows: what they cover of the shards of others.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_ELEMENTMOVES_H
#define WEFT_LIB_PARTITION_ELEMENTMOVES_H

#include "weft/IR/WeftOps.h"
#include "weft/IR/WindowSplits.h"
#include "weft/Sharding/ShardingRule.h"

namespace weft {

/// Dimensions [first, end) of a tensor.
struct DimRange {
  int64_t first, end;

  bool contains(int64_t dim) const { return first <= dim && dim < end; }
};

/// What an op does along one dimension of its operands and its result.
struct ElementMove {
  /// Of the operands, and of the result if it is no reshape.
  int64_t dim;
  /// Segments are the dimension of each operand, and that of the result.
  sharding::ElementMap map;
  /// What the result holds where the map takes nothing to; null: anything.
  mlir::TypedAttr value = {};
  /// Of a reshape: the dimension of the result, and the dimensions of both
  /// sides that have the elements of the segments.
  struct Reshape {
    int64_t dim;
    DimRange operand, result;
  };
  std::optional<Reshape> reshape = {};

  /// Of an op with windows; the map then lists no runs.
  std::optional<WindowSplit> windows = {};

  /// Of the result, or of the kernel.
  int64_t resultDim() const {
    return reshape ? reshape->dim : windows ? windows->otherDim : dim;
  }
  /// Whether a split of the dimension makes the result partial sums.
  bool isSummed() const { return windows && windows->isOfKernel; }
  /// Whether a group of as many members can split both sides.
  bool isDivisibleBy(int64_t members) const;
  /// The most elements of the dimension that a member of such a group sends.
  int64_t mostSent(int64_t members) const;
  /// The dimensions whose elements the map moves.
  DimRange operandDims() const {
    return reshape ? reshape->operand : DimRange{dim, dim + 1};
  }
  DimRange resultDims() const {
    return reshape ? reshape->result : DimRange{dim, dim + 1};
  }

  /// The factors of the dimension.
  int32_t resultFactor(const sharding::ShardingRule &rule) const {
    return (isSummed() ? rule.operands[1] : rule.results[0])[resultDim()]
        .front();
  }
  llvm::SmallVector<int32_t, 2>
  operandFactors(const sharding::ShardingRule &rule) const;
};

/// The moves of an op whose operands have these types, not local ones: one for
/// each dimension that changes in a way that a map can say.
llvm::SmallVector<ElementMove, 1>
findMoves(mlir::Operation *op, llvm::ArrayRef<mlir::RankedTensorType> operands);
llvm::SmallVector<ElementMove, 1> findMoves(mlir::Operation *op);

/// The move of an op that takes a run of elements of one dimension of a value
/// of type `operand`, and the other dimensions whole, and does nothing else:
/// one exchange can serve several of them.
std::optional<ElementMove> findSlice(mlir::Operation *op,
                                     mlir::RankedTensorType operand);

/// The users of a value of type `type` that are such slices of a dimension, in
/// program order.
llvm::SmallVector<mlir::Operation *>
findSlices(mlir::Value value, mlir::RankedTensorType type, int64_t dim);

/// The move of all these slices together: a segment for each.
ElementMove joinSlices(llvm::ArrayRef<mlir::Operation *> slices,
                       mlir::RankedTensorType type);

} // namespace weft

#endif // WEFT_LIB_PARTITION_ELEMENTMOVES_H
