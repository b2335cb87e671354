//===- StridedValues.cpp - Values as their memory is ----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StridedValues.h"

#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

OperandView weft::viewOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    OperandView inner = viewOf(transpose.getOperand());
    return {inner.base, transposedView(inner.view, transpose.getDims())};
  }
  if (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    OperandView inner = viewOf(reshape.getOperand());
    if (auto view = reshapedView(inner.view, type.getShape()))
      return {inner.base, *view};
  }
  return {value, rowMajorView(type.getShape())};
}

/// The view that the result of `op`, a transpose or reshape with the given
/// view, gives of its operand.
static std::optional<StridedView> viewOfOperand(Operation *op,
                                                const StridedView &view) {
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    StridedView inner(view.size());
    for (auto [i, dim] : llvm::enumerate(transpose.getDims()))
      inner[dim] = view[i];
    return inner;
  }
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  return reshapedView(view, type.getShape());
}

SmallVector<ResultView> weft::resultViews(Value result) {
  SmallVector<ResultView> views;
  SmallVector<Operation *> chain;
  Value last = result;
  while (true) {
    auto type = cast<RankedTensorType>(last.getType());
    std::optional<StridedView> view = rowMajorView(type.getShape());
    for (Operation *op : llvm::reverse(chain))
      if (view)
        view = viewOfOperand(op, *view);
    if (view)
      views.push_back({chain, *view});
    if (!last.hasOneUse())
      return views;
    Operation *user = *last.user_begin();
    if (!isa<TransposeOp, ReshapeOp>(user))
      return views;
    chain.push_back(user);
    last = user->getResult(0);
  }
}

void weft::eraseDeadViews(Value value) {
  while (value.use_empty()) {
    Operation *op = value.getDefiningOp();
    if (!isa_and_present<TransposeOp, ReshapeOp>(op))
      return;
    value = op->getOperand(0);
    op->erase();
  }
}

void weft::replaceWithView(Operation *op, ArrayRef<Operation *> chain,
                           Value result) {
  Value replaced =
      chain.empty() ? op->getResult(0) : chain.back()->getResult(0);
  replaced.replaceAllUsesWith(result);
  for (Operation *view : llvm::reverse(chain))
    view->erase();
  // One by one: an operand may be a view of another, or be another.
  while (op->getNumOperands() != 0) {
    Value operand = op->getOperand(0);
    op->eraseOperand(0);
    eraseDeadViews(operand);
  }
  op->erase();
}
