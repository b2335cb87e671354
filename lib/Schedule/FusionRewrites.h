//===- FusionRewrites.h - Ops made ready for kernels ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites, without any change of what is computed, that take out of the way
// what would keep ops from sharing a kernel. `--weft-fuse-kernels` makes them
// in this order before it groups ops.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SCHEDULE_FUSIONREWRITES_H
#define WEFT_LIB_SCHEDULE_FUSIONREWRITES_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace weft {

/// A scatter_add of 16-bit floats adds up in f32 and rounds once. Its sums lie
/// in memory until the last index has been seen, hence the tensor of f32.
void widenScatterSums(mlir::Block &body);

/// A concat of many pieces becomes one of concats of some of them: a kernel
/// looks at each of its pieces for every vector that it writes.
void splitConcats(mlir::Block &body);

/// Broadcasts of buffers and counters cost nothing in a kernel and a lot in
/// memory: each use gets its own.
void duplicateCheapOps(mlir::Block &body);

/// Whether the op converts each element to a type of more bits.
bool isWidening(mlir::Operation *op);

/// Lets a kernel read from memory what it takes slices of, or repeats: a
/// conversion to a wider type is made of the elements that were moved, and so
/// is any conversion of what is repeated for each row, as a bias is. `isMove`
/// says which ops read their first operand at other indices.
///
///   %b = arith.truncf %bias
///   %r = weft.broadcast %b    =>    arith.truncf (weft.broadcast %bias)
void convertAfterMoves(mlir::Block &body,
                       llvm::function_ref<bool(mlir::Operation *)> isMove);

/// Lets a `weft.barrier` wait for the values that what it waits for is computed
/// from, as long as `isElementwise` holds: the sum of some GEMMs is there
/// when they are, and its kernel can be that of what the barrier delays.
///
///   %g = arith.addf %product0, %product1
///   %b = weft.barrier %x after %g    =>    after %product0, %product1
void loosenBarriers(mlir::Block &body,
                    llvm::function_ref<bool(mlir::Operation *)> isElementwise);

/// Lets a sum of everything be made by the kernel that sums up rows or columns
/// of the same: it becomes one of the sums of rows. What both read is read
/// once, and need not stay for the second kernel.
///
///   %s = weft.reduce sum %d [0, 1]          %r = weft.reduce sum %d [1]
///   %c = weft.reduce sum %d [0]       =>    %s = weft.reduce sum %r [0]
///                                           %c = weft.reduce sum %d [0]
void splitFullReductions(
    mlir::Block &body,
    llvm::function_ref<bool(mlir::Operation *)> isElementwise);

/// Moves ops that stand before one of their operands right behind the last;
/// those that wait for the same one keep their order.
void sortBehindOperands(mlir::Block &body);

} // namespace weft

#endif // WEFT_LIB_SCHEDULE_FUSIONREWRITES_H
