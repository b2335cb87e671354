//===- TargetLimits.cpp - What a target cannot do -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Codegen/TargetLimits.h"
#include "cuda/Ptxas.h"

#include "weft/Codegen/CpuTarget.h"
#include "weft/Cost/GpuLimits.h"
#include "weft/IR/GroupedOps.h"
#include "weft/IR/OrderOps.h"
#include "weft/IR/WeftOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace weft;

template <typename Op> static LogicalResult checkProduct(Op product) {
  Type element = cast<ShapedType>(product.getLhs().getType()).getElementType();
  if (isa<FloatType>(element))
    return success();
  return product.emitError("matmul of ")
         << element
         << " on a CUDA device: cuBLASLt has matmuls of f32, f64, bf16 and "
            "f16; "
            "convert the operands, or compile for a CPU";
}

template <typename Op>
static LogicalResult checkHeads(Op attention, const TargetUse &use) {
  int64_t size = attention.getQuery().getType().getShape().back();
  if (size <= cost::attentionHeadSize)
    return success();
  if (use.expandsAttention) {
    attention.emitRemark("attention with heads of ")
        << size << " elements becomes matmuls and a softmax: "
        << "attention kernels of CUDA devices have heads of up to "
        << cost::attentionHeadSize;
    return success();
  }
  return attention.emitError("attention with heads of ")
         << size
         << " elements on a CUDA device: its kernels have heads of up to "
         << cost::attentionHeadSize << "; give the model instead, whose "
         << "attention becomes matmuls, or compile for a CPU";
}

static LogicalResult checkForCuda(func::FuncOp function, const TargetUse &use) {
  bool valid = true;
  function.walk([&](Operation *op) {
    if (auto product = dyn_cast<DotGeneralOp>(op))
      valid &= succeeded(checkProduct(product));
    if (auto gemm = dyn_cast<GemmOp>(op))
      valid &= succeeded(checkProduct(gemm));
    if (isa<GroupedDotOp, GroupedOuterOp, ArgsortOp, ConvolveOp>(op) &&
        !use.expandsAttention) {
      op->emitOpError("has no instruction on CUDA devices; compile the graph, "
                      "in which other ops take its place");
      valid = false;
    }
    if (auto attention = dyn_cast<AttentionOp>(op))
      valid &= succeeded(checkHeads(attention, use));
    if (auto gradient = dyn_cast<AttentionGradOp>(op))
      valid &= succeeded(checkHeads(gradient, use));
  });
  return success(valid);
}

/// A schedule may have been made for another target.
static LogicalResult checkForCpu(func::FuncOp function) {
  bool valid = true;
  function.walk([&](GemmOp gemm) {
    bool hasEpilogue = gemm.getEpilogue() != GemmEpilogue::None &&
                       gemm.getEpilogue() != GemmEpilogue::Accumulate;
    if (!hasEpilogue && gemm.getPrecision() == GemmPrecision::Full)
      return;
    valid = false;
    gemm.emitError("GEMM with an epilogue or of precision tf32, which CPUs do "
                   "not have: the schedule is for a CUDA device; compile for "
                   "one, or give the model instead");
  });
  return success(valid);
}

/// Whether code for the target can be made here.
static llvm::Error checkTools(const TargetOptions &target) {
  if (target.isCuda())
    return findPtxas(target.ptxas).takeError();
  return resolveTarget(target).takeError();
}

LogicalResult weft::checkTargetLimits(ModuleOp module,
                                      const TargetOptions &target,
                                      const TargetUse &use) {
  if (!target.machineCode)
    return success();
  bool valid = true;
  if (use.compilesKernels)
    if (llvm::Error error = checkTools(target)) {
      module.emitError(llvm::toString(std::move(error)));
      valid = false;
    }
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() ||
        !SymbolTable::symbolKnownUseEmpty(function, module))
      valid &= succeeded(target.isCuda() ? checkForCuda(function, use)
                                         : checkForCpu(function));
  return success(valid);
}
