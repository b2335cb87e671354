//===- AccumulateGemms.cpp - Matrix products added to carried sums --------===//
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
#include "llvm/ADT/StringMap.h"

namespace weft {
#define GEN_PASS_DEF_ACCUMULATEGEMMS
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// The product that alone is added to `carried`, an argument of a loop or a
/// state of a segment, to give the value that is carried on; null if there is
/// none. Nothing else may read
/// the argument, whose buffer the product overwrites, nor the product.
static GemmOp findProduct(BlockArgument carried, Value next) {
  auto add = next.getDefiningOp<arith::AddFOp>();
  if (!add || add->getBlock() != carried.getOwner() || !next.hasOneUse() ||
      !carried.hasOneUse() || *carried.user_begin() != add)
    return {};
  Value other = add.getLhs() == carried ? add.getRhs() : add.getLhs();
  auto gemm = other.getDefiningOp<GemmOp>();
  bool isFree = gemm && gemm->getBlock() == carried.getOwner() &&
                gemm.getEpilogue() == GemmEpilogue::None &&
                other == gemm.getResult() && other.hasOneUse();
  return isFree ? gemm : GemmOp();
}

/// Puts a product that begins with `carried` in the place of the sum.
static void accumulate(GemmOp gemm, BlockArgument carried, Operation *add) {
  gemm.getEpilogueOperandMutable().assign(carried);
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
  }

  void visit(BlockArgument carried, Value next) {
    if (GemmOp gemm = findProduct(carried, next)) {
      accumulate(gemm, carried, next.getDefiningOp());
      ++accumulated;
    }
  }
};

} // namespace
