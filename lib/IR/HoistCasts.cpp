//===- HoistCasts.cpp - Cast once for all micro-batches -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/Passes.h"
#include "weft/IR/WeftOps.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/CastInterfaces.h"

namespace weft {
#define GEN_PASS_DEF_HOISTCASTS
#include "weft/IR/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {

/// Whether the op gives each element of a tensor a narrower type.
bool isNarrowing(Operation *op) {
  if (!isa<CastOpInterface>(op) || op->getNumOperands() != 1)
    return false;
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return from && to && from.getShape() == to.getShape() &&
         from.getElementTypeBitWidth() > to.getElementTypeBitWidth();
}

/// Whether a product takes the value. Other ops cast as they read, for nothing.
bool isMultiplied(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isa<DotGeneralOp>(user) ||
           (isa<BarrierOp, ConstraintOp, CheckpointNameOp, ReshapeOp,
                TransposeOp>(user) &&
            user->getOperand(0) == value && isMultiplied(user->getResult(0)));
  });
}

/// An argument that a constraint moves once for the whole program.
bool isMovedArgument(Value value) {
  auto constraint = value.getDefiningOp<ConstraintOp>();
  return constraint && isa<BlockArgument>(constraint.getOperand());
}

/// The ops by which a cast takes a value that all micro-batches use, or one
/// that is moved before what is recomputed, the last one first; empty if its
/// operand is anything else.
SmallVector<Operation *> pathFromUse(Operation *cast) {
  SmallVector<Operation *> path;
  Operation *op = cast->getOperand(0).getDefiningOp();
  while (isa_and_present<BarrierOp, ConstraintOp, CheckpointNameOp>(op)) {
    path.push_back(op);
    if (isa<BarrierOp>(op) && isMovedArgument(op->getOperand(0)))
      return path;
    op = op->getOperand(0).getDefiningOp();
  }
  path.push_back(op);
  return isa_and_present<MicrobatchUseOp>(op) ? path
                                              : SmallVector<Operation *>();
}

struct HoistCasts : weft::impl::HoistCastsBase<HoistCasts> {
  void runOnInput() override {
    SmallVector<Operation *> casts;
    getOperation().walk([&](Operation *op) {
      if (isNarrowing(op) && isMultiplied(op->getResult(0)))
        casts.push_back(op);
    });
    SmallVector<SmallVector<Operation *>> paths;
    for (Operation *cast : casts)
      if (SmallVector<Operation *> path = pathFromUse(cast); !path.empty()) {
        hoist(cast, path);
        paths.push_back(std::move(path));
      }
    numHoisted += paths.size();
    eraseUnused(paths);
  }

  void hoist(Operation *cast, ArrayRef<Operation *> path) {
    Type element = getElementTypeOrSelf(cast->getResult(0).getType());
    Value narrow;
    for (Operation *op : llvm::reverse(path)) {
      Value &known = narrowed[{op, element}];
      if (!known)
        known = cloneOn(op, narrow ? narrow : castBefore(cast, op));
      narrow = known;
    }
    cast->getResult(0).replaceAllUsesWith(narrow);
    cast->erase();
  }

  /// The cast of what micro-batches, or a barrier, take.
  static Value castBefore(Operation *cast, Operation *use) {
    Operation *once = OpBuilder(use).clone(*cast);
    once->setOperands(use->getOperand(0));
    return once->getResult(0);
  }

  /// `op` on another operand.
  static Value cloneOn(Operation *op, Value operand) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Operation *clone = builder.clone(*op);
    clone->setOperand(0, operand);
    clone->getResult(0).setType(operand.getType());
    return clone->getResult(0);
  }

  static void eraseUnused(ArrayRef<SmallVector<Operation *>> paths) {
    llvm::SmallPtrSet<Operation *, 16> erased;
    for (ArrayRef<Operation *> path : paths)
      for (Operation *op : path)
        if (!erased.contains(op) && op->use_empty()) {
          erased.insert(op);
          op->erase();
        }
  }

  /// The counterparts of the ops on the way to casts, by the type of these.
  DenseMap<std::pair<Operation *, Type>, Value> narrowed;
};

} // namespace
