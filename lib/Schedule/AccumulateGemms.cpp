//===- AccumulateGemms.cpp - Matrix products added to carried sums --------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/Origin.h"
#include "weft/IR/WeftOps.h"
#include "weft/Schedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace weft {
#define GEN_PASS_DEF_ACCUMULATEGEMMS
#include "weft/Schedule/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// The product that alone is added to `carried`, an argument of a loop, to give
/// the value that is carried on; null if there is none. Nothing else may read
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

namespace {

struct AccumulateGemms : weft::impl::AccumulateGemmsBase<AccumulateGemms> {
  void runOnInput() override {
    getOperation().walk([&](RepeatOp loop) {
      for (BlockArgument carried : loop.getBlock().getArguments()) {
        Value next = loop.getYield()->getOperand(carried.getArgNumber());
        if (GemmOp gemm = findProduct(carried, next)) {
          accumulate(gemm, carried, next.getDefiningOp());
          ++accumulated;
        }
      }
    });
  }
};

} // namespace
