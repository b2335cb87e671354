//===- PlaceBoundaries.cpp - Cut what is differentiated into stages -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainRegions.h"

#include "weft/Autodiff/Passes.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace weft {
#define GEN_PASS_DEF_PLACEBOUNDARIES
#include "weft/Autodiff/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// Whether a value is made of arguments and constants by single ops: every
/// stage has it, or makes it.
static bool isEverywhere(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || isConstantExpression(value) ||
         (op->getNumOperands() == 1 && isEverywhere(op->getOperand(0)));
}

/// Puts boundaries on what goes from the ops of the regions before `first` to
/// those behind.
static void placeBoundary(ArrayRef<CheckpointRegion> regions, size_t first) {
  llvm::DenseSet<Operation *> before;
  for (const CheckpointRegion &region : regions.take_front(first))
    before.insert(region.begin(), region.end());
  llvm::SetVector<Value> crossing;
  for (const CheckpointRegion &region : regions.drop_front(first))
    for (Operation *op : region)
      for (Value operand : op->getOperands())
        if (before.contains(operand.getDefiningOp()) && !isEverywhere(operand))
          crossing.insert(operand);
  for (Value value : crossing) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto boundary =
        StageBoundaryOp::create(builder, value.getLoc(), value.getType(), value,
                                /*of=*/Value());
    value.replaceUsesWithIf(boundary, [&](OpOperand &use) {
      return use.getOwner() != boundary && !before.contains(use.getOwner());
    });
  }
}

namespace {

struct PlaceBoundaries : weft::impl::PlaceBoundariesBase<PlaceBoundaries> {
  using PlaceBoundariesBase::PlaceBoundariesBase;

  void runOnInput() override {
    SymbolTable symbols(getOperation());
    llvm::MapVector<func::FuncOp, ValueAndGradOp> gradients;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic())
        function.walk([&](ValueAndGradOp op) {
          auto callee = symbols.lookup<func::FuncOp>(op.getCallee());
          if (callee.getBody().hasOneBlock())
            gradients.insert({callee, op});
        });
    for (auto [function, gradient] : gradients)
      if (failed(cut(function, gradient)))
        return signalPassFailure();
  }

private:
  LogicalResult cut(func::FuncOp function, ValueAndGradOp gradient) {
    for (auto op : function.getOps<StageBoundaryOp>())
      return op.emitError("the compiler is to place the stage boundaries, but "
                          "the model has one; take it away, or let the "
                          "boundaries of the model be the stages");
    std::vector<CheckpointRegion> cutRegions = findRegions(gradient, function);
    for (int64_t first : regions) {
      if (first < 1 || size_t(first) >= cutRegions.size())
        return gradient.emitError()
               << "a stage is to begin with region " << first
               << ", but there are " << cutRegions.size()
               << " regions, and stages behind the first begin with 1 to "
               << cutRegions.size() - 1;
      placeBoundary(cutRegions, first);
    }
    return success();
  }
};

} // namespace
