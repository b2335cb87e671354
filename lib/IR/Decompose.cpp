//===- Decompose.cpp - Parts in the place of composites -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/DecompositionOpInterface.h"
#include "weft/IR/Origin.h"
#include "weft/IR/Passes.h"
#include "weft/IR/TensorBuilder.h"
#include "weft/IR/WeftDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace weft {
#define GEN_PASS_DEF_DECOMPOSE
#include "weft/IR/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

namespace {
struct Decompose : weft::impl::DecomposeBase<Decompose> {
  using DecomposeBase::DecomposeBase;

  void runOnInput() override {
    SmallVector<DecompositionOpInterface> composites;
    getOperation().walk([&](DecompositionOpInterface op) {
      if (!(keepCpuInstructions && op.isCpuInstruction()) &&
          !(keepWindows && op.isPartitioned()))
        composites.push_back(op);
    });
    for (DecompositionOpInterface op : composites) {
      OriginListener listener(getOrigin(op));
      TensorBuilder builder(op->getLoc(), op);
      builder.setListener(&listener);
      op->replaceAllUsesWith(op.decompose(builder));
      op->erase();
    }
    numDecomposed += composites.size();
  }
};
} // namespace
