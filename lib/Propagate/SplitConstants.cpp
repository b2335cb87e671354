//===- SplitConstants.cpp - A copy of a constant for every use ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Propagate/Passes.h"

#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace weft {
#define GEN_PASS_DEF_SPLITCONSTANTS
#include "weft/Propagate/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// Whether `op` moves or computes data without a sharding of its own.
static bool isTransparent(Operation *op) {
  if (!isMemoryEffectFree(op) || isa<ConstraintOp, ReshardOp>(op))
    return false;
  if (isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op))
    return true;
  auto rule = dyn_cast<ShardingRuleOpInterface>(op);
  return rule && op->hasTrait<OpTrait::Elementwise>();
}

static bool isScalar(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 0;
}

/// Whether `op` gives every element the value of one scalar, which every
/// device has anyway.
static bool isFill(Operation *op) {
  return isa<BroadcastOp, ReshapeOp>(op) && isScalar(op->getOperand(0));
}

namespace {
struct SplitConstants : weft::impl::SplitConstantsBase<SplitConstants> {
  void runOnInput() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        split(function);
  }

private:
  void split(func::FuncOp function) {
    collect(function);
    // Uses by other constant expressions are copied along with those.
    for (Operation *op : constants)
      splitUses(op);
    for (Operation *op : llvm::reverse(constants))
      if (op->use_empty())
        op->erase();
  }

  bool isConstant(Value value) {
    return constants.contains(value.getDefiningOp());
  }

  /// Every expression of constants and scalars of the function, in program
  /// order.
  void collect(func::FuncOp function) {
    constants.clear();
    for (Operation &op : function.getBody().front()) {
      bool isLeaf = isa<arith::ConstantOp, IotaOp>(op) || isFill(&op);
      bool isChain = isTransparent(&op) && op.getNumOperands() > 0 &&
                     llvm::all_of(op.getOperands(),
                                  [&](Value v) { return isConstant(v); });
      if (isLeaf || isChain)
        constants.insert(&op);
    }
  }

  /// Gives each use of `op` by a varying op an expression of its own. The first
  /// use keeps `op` if nothing else needs any part of its expression.
  void splitUses(Operation *op) {
    for (Value result : op->getResults()) {
      if (isScalar(result))
        continue;
      SmallVector<OpOperand *> uses = varyingUses(result);
      for (OpOperand *use : llvm::drop_begin(uses, !uses.empty()))
        use->set(copy(result));
      if (!uses.empty() && isShared(op, uses.front()->getOwner()))
        uses.front()->set(copy(result));
    }
  }

  /// Uses by ops that are not constant expressions, in program order.
  SmallVector<OpOperand *> varyingUses(Value value) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : value.getUses())
      if (!constants.contains(use.getOwner()))
        uses.push_back(&use);
    llvm::sort(uses, [](OpOperand *a, OpOperand *b) {
      if (a->getOwner() != b->getOwner())
        return a->getOwner()->isBeforeInBlock(b->getOwner());
      return a->getOperandNumber() < b->getOperandNumber();
    });
    return uses;
  }

  /// Whether a part of the expression of `op` is used outside of it, other
  /// than by `user`.
  bool isShared(Operation *op, Operation *user) {
    SetVector<Operation *> expression;
    collectExpression(op, expression);
    return llvm::any_of(expression, [&](Operation *part) {
      return llvm::any_of(part->getUsers(), [&](Operation *other) {
        return other != user && !expression.contains(other);
      });
    });
  }

  /// A copy of the expression that computes `value`, without shared parts.
  Value copy(Value value) {
    IRMapping copies;
    SetVector<Operation *> expression;
    collectExpression(value.getDefiningOp(), expression);
    OpBuilder builder(value.getDefiningOp());
    builder.setInsertionPointAfter(value.getDefiningOp());
    for (Operation *op : expression) {
      builder.clone(*op, copies);
      ++numCopies;
    }
    return copies.lookup(value);
  }

  /// `op` and what it is computed from, operands first, up to scalars.
  void collectExpression(Operation *op, SetVector<Operation *> &expression) {
    for (Value operand : op->getOperands())
      if (!isScalar(operand) && !expression.contains(operand.getDefiningOp()))
        collectExpression(operand.getDefiningOp(), expression);
    expression.insert(op);
  }

  SetVector<Operation *> constants;
};
} // namespace
