//===- Stages.h - Which stages compute what ---------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `--weft-assign-stages` finds out about an entry, in the order in which
// it does: the stages of the ops of the loop over micro-batches
// (findStagesOfLoop), the passes that these are of (findPasses), and the stages
// of all other ops (findStagesOfStep).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PIPELINING_STAGES_H
#define WEFT_LIB_PIPELINING_STAGES_H

#include "weft/IR/Microbatches.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringMap.h"

namespace weft {

using StageSet = llvm::SmallBitVector;

/// Values of at most so many bytes are sent to every stage that needs them;
/// larger ones stay, and what is computed from them is computed there.
inline constexpr int64_t mostSmallBytes = 1024;

/// The stages of an entry. Constants are of none: each use has its own.
struct Stages {
  explicit Stages(int64_t count) : count(count) {}

  /// The only stage of an op, or the first of those that compute it.
  int64_t first(mlir::Operation *op) const { return of.at(op).find_first(); }
  StageSet only(int64_t stage) const {
    StageSet set(count);
    set.set(stage);
    return set;
  }
  bool isInLoop(mlir::Operation *op) const { return gradients.contains(op); }

  int64_t count;
  /// The stages that compute an op, each for itself.
  llvm::DenseMap<mlir::Operation *, StageSet> of;
  /// For the ops of the loop, those that sum or stack included: whether it is
  /// computed from the cotangents of a stage.
  llvm::DenseMap<mlir::Operation *, bool> gradients;
  llvm::DenseMap<mlir::Operation *, StagePass> passes;
  /// The stage behind each boundary of the way forward.
  llvm::DenseMap<mlir::Operation *, int64_t> begins;
};

/// What an op computes its results from: not what a barrier only waits for, nor
/// what tells a boundary which one it mirrors.
mlir::ValueRange computedFrom(mlir::Operation *op);

/// The number of ranks of a pipeline along an axis of the mesh that `from`
/// sees. Errors are reported.
mlir::FailureOr<int64_t> findPipelineRanks(mlir::Operation *from,
                                           llvm::StringRef axis);

/// How many stages the boundaries of `block` make: one more than the most of
/// them on the way of a value.
int64_t countStages(mlir::Block &block);

/// Splits sums over micro-batches of what several stages compute. Errors are
/// reported.
mlir::FailureOr<Stages> findStagesOfLoop(mlir::Block &block, int64_t count);
void findPasses(mlir::Block &block, Stages &stages);
/// By name, the stages that have a state.
using StateStages = llvm::StringMap<StageSet>;
using OpStages = llvm::DenseMap<mlir::Operation *, int64_t>;
/// The stages of what is computed once a step: of ops that `behind` lists that
/// one, of all others those that have what they are computed from. `held` are
/// states that other entries put in stages.
void findStagesOfStep(mlir::func::FuncOp entry, Stages &stages,
                      const StateStages &held = StateStages(),
                      const OpStages &behind = OpStages());
/// For an entry without a loop: the stage of each op behind a boundary.
OpStages findStagesBehindBoundaries(mlir::Block &block);

} // namespace weft

#endif // WEFT_LIB_PIPELINING_STAGES_H
