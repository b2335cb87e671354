//===- Tape.h - A function run forward and back -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy of a function's body in another function, and what it takes to emit
// its derivative there. A weft.checkpoint in the body is copied as the body of
// its function; its derivative goes through a second copy, the replay, whose
// arguments are behind a barrier.
//
// Example: df/dx of a function f(x) with a scalar result
//
//   Tape tape(f, {x}, builder, loc);
//   Value dx = tape.pullBack(activity, {one}, {}, builder).front();
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_AUTODIFF_TAPE_H
#define WEFT_LIB_AUTODIFF_TAPE_H

#include "Activity.h"

#include "weft/IR/WeftOps.h"

#include "mlir/IR/IRMapping.h"

#include <map>
#include <memory>

namespace weft {

class Tape {
public:
  /// Copies the body to the insertion point. `call` is the location of the op
  /// that asks for it.
  Tape(mlir::func::FuncOp function, mlir::ValueRange operands,
       mlir::OpBuilder &builder, mlir::Location call);

  /// The results of the copy.
  llvm::SmallVector<mlir::Value> getResults() const;

  /// Emits the cotangents of the arguments, given those of the results, on top
  /// of `sums`, what the caller has of them. Null stands for zero in all three.
  /// Every op of `activity` has a VjpOpInterface or is a checkpoint.
  llvm::SmallVector<mlir::Value>
  pullBack(const Activity &activity, llvm::ArrayRef<mlir::Value> cotangents,
           llvm::ArrayRef<mlir::Value> sums, mlir::OpBuilder &builder) const;

private:
  explicit Tape(mlir::Block &body) : body(body) {}
  /// A copy that recomputes what `checkpoint` does not keep of this one,
  /// once the cotangents are there; what starts from parameters of the program
  /// only has to wait for `earlier`.
  std::unique_ptr<Tape> replay(CheckpointOp checkpoint,
                               llvm::ArrayRef<mlir::Value> cotangents,
                               llvm::ArrayRef<mlir::Value> earlier,
                               mlir::OpBuilder &builder) const;
  /// Copies one op of the body; where it is a checkpoint, what it calls.
  void copy(mlir::Operation &op, mlir::OpBuilder &builder, mlir::Location loc);
  llvm::SmallVector<mlir::Value> pullBackCheckpoint(
      CheckpointOp op, const llvm::SmallBitVector &wanted,
      llvm::ArrayRef<mlir::Value> cotangents, llvm::ArrayRef<mlir::Value> sums,
      llvm::ArrayRef<mlir::Value> earlier, mlir::OpBuilder &builder) const;

  mlir::Block &body;
  /// From the function's values and ops to those of the copy.
  mlir::IRMapping copies;
  /// Of a replay: what it recomputes although it is kept, and the value
  /// that is kept.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> kept;
  /// The copies of what the checkpoints of the body call.
  std::map<mlir::Operation *, std::unique_ptr<Tape>> checkpoints;
};

/// The function that a checkpoint calls.
mlir::func::FuncOp calleeOf(CheckpointOp op);

} // namespace weft

#endif // WEFT_LIB_AUTODIFF_TAPE_H
