//===- BlockGraph.h - Ops as nodes  that kernels are made of ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_BLOCKGRAPH_H
#define WEFT_LIB_SCHEDULE_BLOCKGRAPH_H

#include "weft/Schedule/KernelFusion.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace weft {

/// The ops of a block in their order, but for those that each kernel computes
/// for itself.
struct BlockGraph {
  explicit BlockGraph(mlir::Block &block);

  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  /// What kernel fusion knows of each op.
  std::vector<FusionOp> nodes;
};

FusionKind kindOf(mlir::Operation *op);

/// Ops that each kernel computes for itself instead of reading a buffer.
bool isRematerialized(mlir::Operation *op);
/// Whether the op is no more work for a kernel than to load its result.
bool isCheap(mlir::Operation *op);
bool isElementwise(mlir::Operation *op);
/// Whether the op reads its first operand at other indices.
bool isMove(mlir::Operation *op);
/// Whether the kernel of the op can be that of what moves its result.
bool isFusedWithMoves(mlir::Operation *op);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_BLOCKGRAPH_H
