//===- LoopRegions.h - A differentiated loop as a chain ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a loop over micro-batches that was differentiated before it came here (by
// JAX), the data flow alone says what is forward: what results other than
// gradients are computed from. That is cut as a chain (weft/IR/ChainCuts.h).
// An op of the way back is of the last region that has all it is computed from:
// values of the forward pass are in the regions from where they are made to
// where they are used, a parameter is where the forward pass uses it, and
// cotangents go back.
//
//   x1 = f(x0, w0)          region 0
//   x2 = f(x1, w1)          region 1; x1 is there as well
//   c1 = g(c2, x1, w1)      region 1
//   d0 = h(c1, x0)          region 0
//
// Of those that could be of an earlier region as well, BackwardDelay moves
// there what leads to gradients of that one, where a single cotangent goes back
// then.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_PIPELINING_LOOPREGIONS_H
#define WEFT_LIB_PIPELINING_LOOPREGIONS_H

#include "weft/IR/Microbatches.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace weft {

/// Whether a sum over micro-batches is that of a gradient.
bool isGradientSum(mlir::Operation *op);

/// The arguments that stages are placed between: those that the loop has
/// gradients of or, where it has none, those that all micro-batches use. Empty
/// where a sum over micro-batches has the type of what they use: it is the
/// gradient of an argument that is not known to be a parameter.
llvm::SmallVector<mlir::BlockArgument> findParameters(mlir::func::FuncOp entry);

class LoopRegions {
  friend class BackwardDelay;

public:
  explicit LoopRegions(mlir::func::FuncOp entry);

  /// No more than one if the loop cannot be cut.
  int64_t size() const { return count; }
  bool hasParameters() const { return !active.empty(); }
  bool hasForward() const { return !forward.empty(); }
  bool isForward(mlir::Operation *op) const { return forward.contains(op); }
  /// The region of an op; none for what every stage computes for itself.
  std::optional<int64_t> of(mlir::Operation *op) const;
  /// Whether a value goes from stage to stage where others need it.
  bool isSent(mlir::Value value) const;
  /// Whether all that is computed from `op` is a sum over micro-batches, taken
  /// of the terms where they are.
  bool isAddedUp(mlir::Operation *op) const;

private:
  void findForward();
  void findActive();
  void cutForward();
  void placeBackward();
  void dropCuts();
  std::vector<llvm::DenseSet<mlir::Type>> typesSentForward() const;
  int64_t lastRegionOf(mlir::Value value);
  mlir::Value parameterOf(mlir::Value value);
  void joinRegions(const std::vector<bool> &isCut);

  mlir::Block &block;
  Microbatches microbatches;
  int64_t count = 1;
  llvm::DenseSet<mlir::Operation *> forward;
  /// What depends on a parameter, and of all else of the forward pass what
  /// takes a matmul.
  llvm::DenseSet<mlir::Value> active, frozen;
  llvm::DenseMap<mlir::Operation *, int64_t> regions;
  /// The last region of the forward pass that uses a value; of a parameter, if
  /// it is the only one.
  llvm::DenseMap<mlir::Value, int64_t> lastUse;
  /// What several regions of the forward pass use, and the first of these.
  llvm::DenseMap<mlir::Value, int64_t> shared;
  /// The first of equal slices.
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, mlir::Value> slices;
};

} // namespace weft

#endif // WEFT_LIB_PIPELINING_LOOPREGIONS_H
