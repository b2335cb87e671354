//===- CheckCuda.cpp - What CUDA devices cannot do ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckCuda.h"

#include "weft/IR/WeftOps.h"

using namespace mlir;
using namespace weft;

/// What a tile of the attention kernels holds.
static constexpr int64_t longestHead = 256;

static LogicalResult check(GemmOp gemm) {
  Type element = gemm.getLhs().getType().getElementType();
  if (isa<FloatType>(element))
    return success();
  return gemm.emitError("matrix product of ")
         << element
         << " on a CUDA device: cuBLASLt has products of f32, f64, bf16 and "
            "f16; "
            "convert the factors, or compile for a CPU";
}

template <typename Op> static LogicalResult checkHeads(Op attention) {
  int64_t size = attention.getQuery().getType().getShape().back();
  if (size <= longestHead)
    return success();
  return attention.emitError("attention with heads of ")
         << size
         << " numbers on a CUDA device: its kernels have heads of up to "
         << longestHead << "; use more heads, or compile for a CPU";
}

LogicalResult weft::checkForCuda(ModuleOp module) {
  bool valid = true;
  module.walk([&](Operation *op) {
    if (auto gemm = dyn_cast<GemmOp>(op))
      valid &= succeeded(check(gemm));
    if (auto attention = dyn_cast<AttentionOp>(op))
      valid &= succeeded(checkHeads(attention));
    if (auto gradient = dyn_cast<AttentionGradOp>(op))
      valid &= succeeded(checkHeads(gradient));
  });
  return success(valid);
}
