//===- BlockCandidates.h - What can be in block order -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values of which slices are taken along a split dimension, and what is put
// together along one, whose elements can have the order of BlockOrder.h: all
// that they are made of, or are contracted with, can have it too, or does not
// depend on it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PARTITION_BLOCKCANDIDATES_H
#define WEFT_LIB_PARTITION_BLOCKCANDIDATES_H

#include "BlockOrder.h"

#include "llvm/ADT/SetVector.h"

namespace weft {

struct BlockCandidate {
  /// The value, or what is put together, and its split dimension.
  ValueDim whole;
  BlockOrder order;
  /// What has to be put in the order.
  llvm::SetVector<ValueDim> sources;
  /// What is made along the dimension, when all is added up.
  llvm::SetVector<ValueDim> sums;
  /// Those that take the sources.
  llvm::SmallVector<mlir::Operation *> matmuls;
  /// Of a value all of whose users are slices, these; else it is put together.
  llvm::SmallVector<SliceOp> slices;
};

/// The axes that split a dimension of a value.
sharding::AxisList axesOf(ValueDim value, const sharding::Mesh &mesh);

/// A value that is only sliced along one dimension.
std::optional<BlockCandidate> findSliced(mlir::Value value,
                                         const sharding::Mesh &mesh);
/// What is put together for matmuls and sums.
std::optional<BlockCandidate> findJoined(ConcatOp op,
                                         const sharding::Mesh &mesh);

/// The move of slices of these sizes behind each other.
sharding::ElementMap mapOfSlices(const std::vector<int64_t> &parts);

/// The operand that the dimension of a matmul's result is of. Nothing if it is
/// a batching dimension.
std::optional<std::pair<unsigned, int64_t>> freeOperandDim(DotGeneralOp op,
                                                           int64_t dim);
/// The dimension of the result that a free one of an operand becomes, or -1.
int64_t resultDimOf(DotGeneralOp op, unsigned operand, int64_t dim);
/// The dimension of the other operand that is contracted with one, or -1.
int64_t contractedWith(DotGeneralOp op, unsigned operand, int64_t dim);
/// The dimension of a broadcast's operand that one of its result is of; nothing
/// if what it holds is the same along that dimension.
std::optional<int64_t> operandDim(BroadcastOp op, int64_t dim);
/// Whether the op computes each element of one at the same place of others.
bool computesByElement(mlir::Operation *op);

} // namespace weft

#endif // WEFT_LIB_PARTITION_BLOCKCANDIDATES_H
