//===- FillConstants.cpp - Let kernels write constants of one value -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplatConstant.h"
#include "weft/Schedule/Passes.h"

#include "weft/IR/Origin.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace weft {
#define GEN_PASS_DEF_FILLCONSTANTS
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// The value that all elements of `tensor` have, if it is constant: null for
/// scalars, which are cheaper as they are, and for what has no elements.
static DenseElementsAttr scalarOf(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  DenseElementsAttr splat = findSplat(tensor);
  if (!splat || type.getRank() == 0 || type.getNumElements() == 0)
    return {};
  return splat.resizeSplat(RankedTensorType::get({}, type.getElementType()));
}

/// The value whose origin and location a fill for `use` has: sums begin with
/// one constant, but are the gradients of different parameters.
static Value findNamesake(OpOperand &use) {
  if (auto loop = dyn_cast<RepeatOp>(use.getOwner()))
    return loop.getYield()->getOperand(use.getOperandNumber());
  return use.get();
}

/// Gives a use of a constant tensor a broadcast of its own.
static bool fill(OpOperand &use) {
  Value old = use.get(), namesake = findNamesake(use);
  DenseElementsAttr splat = scalarOf(old);
  if (!splat || (old.hasOneUse() && old.getDefiningOp<BroadcastOp>()))
    return false;
  OriginListener listener(getValueOrigin(namesake));
  OpBuilder builder(use.getOwner(), &listener);
  Value scalar = arith::ConstantOp::create(builder, old.getLoc(), splat);
  use.set(BroadcastOp::create(builder, namesake.getLoc(), old.getType(), scalar,
                              ArrayRef<int64_t>()));
  if (old.use_empty())
    old.getDefiningOp()->erase();
  return true;
}

namespace {
struct FillConstants : weft::impl::FillConstantsBase<FillConstants> {
  void runOnInput() override {
    getOperation().walk([&](Operation *op) {
      if (usesBuffers(op) || op->hasTrait<OpTrait::IsTerminator>())
        for (OpOperand &use : op->getOpOperands())
          filled += fill(use);
    });
  }
};
} // namespace
