//===- FindInPlace.cpp - Mark what kernels may write over -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"

#include "weft/Codegen/CompileKernels.h"
#include "weft/Codegen/Passes.h"
#include "weft/IR/WeftDialect.h"

namespace weft {
#define GEN_PASS_DEF_FINDINPLACE
#include "weft/Codegen/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// Operand, result, operand, result, ...
static SmallVector<int64_t> findPairs(func::FuncOp kernel,
                                      const BufferSharing &sharing) {
  SmallVector<int64_t> pairs;
  for (unsigned operand = 0; operand < countBufferArguments(kernel); ++operand)
    for (unsigned result = 0; result < kernel.getNumResults(); ++result)
      if (sharing.mayShare(operand, result))
        pairs.append({operand, result});
  return pairs;
}

namespace {
struct FindInPlace : weft::impl::FindInPlaceBase<FindInPlace> {
  using FindInPlaceBase::FindInPlaceBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      if (!kernel->hasAttr(WeftDialect::kKernelAttrName))
        continue;
      FailureOr<BufferSharing> sharing = BufferSharing::analyze(
          kernel, cuda ? NestOrder::AtOnce : NestOrder::InTurn);
      if (failed(sharing)) {
        signalPassFailure();
        continue;
      }
      SmallVector<int64_t> pairs = findPairs(kernel, *sharing);
      if (!pairs.empty())
        kernel->setAttr(WeftDialect::kInPlaceAttrName,
                        DenseI64ArrayAttr::get(kernel.getContext(), pairs));
    }
  }
};
} // namespace
