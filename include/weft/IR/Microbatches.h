//===- Microbatches.h - What a loop over micro-batches holds ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In forms 1 and 2 a loop over micro-batches is what the ops of its border say
// (MicrobatchOps.td): an op belongs to it if it depends on a slice of a batch
// or on a use for each micro-batch, not counting what goes through a sum or a
// stack. Hence of
//
//   %xi = weft.microbatch_slice %x ...
//   %wi = weft.microbatch_use %w ...
//   %y  = weft.dot_general %xi, %wi ...
//   %s  = weft.microbatch_sum %y ...
//   %r  = arith.addf %s, %b
//
// all but the last belong to the loop. The form verifiers report what breaks
// its rules; the partitioner makes a weft.repeat of it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_IR_MICROBATCHES_H
#define WEFT_IR_MICROBATCHES_H

#include "weft/IR/WeftAttrs.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace weft {

/// The loop that an op begins or ends; null for others.
MicrobatchesAttr getBorder(mlir::Operation *op);
/// Whether the result of `op` is there after the loop: a sum or a stack.
bool leavesMicrobatches(mlir::Operation *op);

class Microbatches {
public:
  explicit Microbatches(mlir::Block &block);

  /// Whether there is any loop.
  bool any() const { return !loops.empty(); }
  /// In the order of their first ops.
  llvm::ArrayRef<MicrobatchesAttr> getLoops() const { return loops; }
  /// The loop that `op` belongs to, or null. Of an op that depends on several,
  /// the first.
  MicrobatchesAttr loopOf(mlir::Operation *op) const {
    return loopOfOp.lookup(op);
  }
  /// The loop for each micro-batch of which a value is another one; null if it
  /// is one for all.
  MicrobatchesAttr loopOf(mlir::Value value) const;

private:
  llvm::SmallVector<MicrobatchesAttr> loops;
  llvm::DenseMap<mlir::Operation *, MicrobatchesAttr> loopOfOp;
};

} // namespace weft

#endif // WEFT_IR_MICROBATCHES_H
