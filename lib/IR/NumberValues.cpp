//===- NumberValues.cpp - Which values are compared -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/ObservedValues.h"
#include "weft/IR/Origin.h"
#include "weft/IR/Passes.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/WeftOps.h"
#include "weft/IR/WindowOps.h"

namespace weft {
#define GEN_PASS_DEF_NUMBERVALUES
#include "weft/IR/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// What an op adds up for an element of its result.
static int64_t countTerms(Operation *op) {
  auto elements = [](Value value) { return typeOf(value).getNumElements(); };
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    int64_t terms = 1;
    for (int64_t dim : dot.getLhsContracting())
      terms *= typeOf(dot.getLhs()).getDimSize(dim);
    return terms;
  }
  if (auto convolution = dyn_cast<ConvolutionOp>(op))
    return elements(convolution.getRhs()) /
           std::max<int64_t>(1, typeOf(convolution.getRhs()).getShape().back());
  if (auto reduce = dyn_cast<ReduceWindowOp>(op))
    return reduce.getSize();
  if (auto spread = dyn_cast<SpreadWindowsOp>(op))
    return spread.getSize();
  if (auto reduce = dyn_cast<ReduceOp>(op);
      reduce && reduce.getKind() == sharding::Reduction::Sum)
    return elements(reduce.getOperand()) /
           std::max<int64_t>(1, elements(reduce.getResult()));
  if (auto scatter = dyn_cast<ScatterAddOp>(op))
    return elements(scatter.getIndices());
  if (auto sum = dyn_cast<MicrobatchSumOp>(op))
    return sum.getMicrobatches().getCount();
  return 0;
}

/// Whether the result is an operand under another name, or an operand repeated,
/// for which kernels need no memory.
static bool isOperandAgain(Operation *op) {
  return isa<BroadcastOp, ConstraintOp, StopGradientOp, CheckpointNameOp,
             BarrierOp, MicrobatchUseOp>(op);
}

static bool hasTensors(Operation *op) {
  return op->getNumResults() != 0 &&
         llvm::all_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

namespace {
struct NumberValues : weft::impl::NumberValuesBase<NumberValues> {
  void runOnInput() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        number(function);
  }

private:
  void number(func::FuncOp function) {
    Block &block = function.getBody().front();
    int64_t next = 0;
    for (Operation &op : block) {
      op.removeAttr(kNumberedAttrName);
      // Nothing that the ranks are given decides constants.
      bool varies = llvm::any_of(op.getOperands(), [&](Value operand) {
        Operation *made = operand.getDefiningOp();
        return !made || varying.contains(made);
      });
      if (varies)
        varying.insert(&op);
      if (!varies || isOperandAgain(&op) || !hasTensors(&op))
        continue;
      NumberedOp numbered{next, ObservedKind::Element, countTerms(&op), {}};
      if (isa<AttentionOp, AttentionGradOp>(op))
        numbered.kind = ObservedKind::Attention;
      else if (numbered.terms)
        numbered.kind = ObservedKind::Sum;
      for (Value result : op.getResults())
        numbered.types.push_back(typeOf(result));
      setNumbered(&op, numbered);
      next += op.getNumResults();
    }
  }

  llvm::SmallPtrSet<Operation *, 32> varying;
};
} // namespace
