//===- AccumulateGemms.cpp - Matmuls added to sums in place ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/Origin.h"
#include "weft/IR/Segments.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"
#include "weft/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"

namespace weft {
#define GEN_PASS_DEF_ACCUMULATEGEMMS
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// The product that `value` is, if nothing but `add` reads it.
static GemmOp productOf(Value value, arith::AddFOp add) {
  auto gemm = value.getDefiningOp<GemmOp>();
  bool isOnlyAdded = gemm && gemm->getBlock() == add->getBlock() &&
                     value == gemm.getResult() && value.hasOneUse();
  return isOnlyAdded ? gemm : GemmOp();
}

/// The product that alone is added to `carried`, an argument of a loop or a
/// state of a segment, to give the value that is carried on; null if there is
/// none. Nothing else may read
/// the argument, whose buffer the product overwrites, nor the product.
static GemmOp findProduct(BlockArgument carried, Value next) {
  auto add = next.getDefiningOp<arith::AddFOp>();
  if (!add || add->getBlock() != carried.getOwner() || !next.hasOneUse() ||
      !carried.hasOneUse() || *carried.user_begin() != add)
    return {};
  GemmOp gemm =
      productOf(add.getLhs() == carried ? add.getRhs() : add.getLhs(), add);
  return gemm && gemm.getEpilogue() == GemmEpilogue::None ? gemm : GemmOp();
}

/// Puts a product that begins with `sum` in the place of `add`.
static void startFrom(GemmOp gemm, Value sum, Operation *add) {
  gemm.getEpilogueOperandMutable().assign(sum);
  gemm.setEpilogue(GemmEpilogue::Accumulate);
  setOrigin(gemm, joinOrigins(getOrigin(add), getOrigin(gemm)));
  add->replaceAllUsesWith(ValueRange(gemm.getResult()));
  add->erase();
}

/// The states that a segment takes and leaves, before and after: they carry
/// sums over micro-batches on.
static SmallVector<std::pair<BlockArgument, Value>>
findCarriedStates(func::FuncOp segment) {
  llvm::StringMap<BlockArgument> states;
  for (BlockArgument argument : segment.getArguments())
    states[getArgumentName(segment, argument.getArgNumber())] = argument;
  SmallVector<std::pair<BlockArgument, Value>> carried;
  for (OpOperand &result : segment.front().getTerminator()->getOpOperands())
    if (BlockArgument state =
            states.lookup(getResultName(segment, result.getOperandNumber())))
      carried.push_back({state, result.get()});
  return carried;
}

/// Zeros, also a part of them, or by choice: what an unrolled loop begins a sum
/// with, and where the sum is of terms, only one device.
static bool isZeros(Value value) {
  if (auto slice = value.getDefiningOp<AllSliceOp>())
    return isZeros(slice.getOperand());
  if (auto select = value.getDefiningOp<arith::SelectOp>())
    return isZeros(select.getTrueValue()) && isZeros(select.getFalseValue());
  return matchPattern(value, m_AnyZeroFloat());
}

/// Puts a product in the place of its sum with zeros.
static LogicalResult leaveOutZeros(arith::AddFOp add) {
  bool isLeft = isZeros(add.getLhs());
  GemmOp gemm = productOf(isLeft ? add.getRhs() : add.getLhs(), add);
  if (!gemm || !(isLeft || isZeros(add.getRhs())))
    return failure();
  add->replaceAllUsesWith(ValueRange(gemm.getResult()));
  add->erase();
  return success();
}

/// Puts the later of two products, which begins with the earlier one, in the
/// place of their sum. So a long sum of products takes one buffer.
static LogicalResult addToEarlier(arith::AddFOp add) {
  GemmOp earlier = productOf(add.getLhs(), add);
  GemmOp later = productOf(add.getRhs(), add);
  if (!earlier || !later)
    return failure();
  if (later->isBeforeInBlock(earlier))
    std::swap(earlier, later);
  if (later.getEpilogue() != GemmEpilogue::None)
    return failure();
  startFrom(later, earlier.getResult(), add);
  return success();
}

namespace {

struct AccumulateGemms : weft::impl::AccumulateGemmsBase<AccumulateGemms> {
  void runOnInput() override {
    getOperation().walk([&](RepeatOp loop) {
      for (BlockArgument carried : loop.getBlock().getArguments())
        visit(carried, loop.getYield()->getOperand(carried.getArgNumber()));
    });
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (getSegment(function))
        for (auto [carried, next] : findCarriedStates(function))
          visit(carried, next);
    getOperation().walk([&](arith::AddFOp add) {
      if (succeeded(leaveOutZeros(add)))
        return;
      if (succeeded(addToEarlier(add)))
        ++accumulated;
    });
  }

  void visit(BlockArgument carried, Value next) {
    if (GemmOp gemm = findProduct(carried, next)) {
      startFrom(gemm, carried, next.getDefiningOp());
      ++accumulated;
    }
  }
};

} // namespace
