//===- KernelWriter.cpp - The kernels of a plan ---------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelWriter.h"

#include "weft/Codegen/CompileGpuKernels.h"
#include "weft/Codegen/CompileKernels.h"
#include "weft/IR/WeftOps.h"
#include "weft/Schedule/StepCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace weft {

/// What an op of a kernel's body is called in a summary; nothing if it is not
/// worth a word.
static StringRef wordFor(Operation *op) {
  if (isa<ScatterAddOp>(op))
    return "scatter_add";
  if (isa<tensor::ExtractOp>(op) && isa<linalg::GenericOp>(op->getParentOp()))
    return "gather";
  bool isMath = isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
                !isa<arith::ConstantOp, arith::IndexCastOp>(op);
  return isMath ? op->getName().stripDialect() : "";
}

/// The math of a kernel's body, each op once, in order: "mulf, addf, tanh".
static std::string summarize(func::FuncOp kernel) {
  llvm::StringSet<> seen;
  std::string summary;
  kernel.walk([&](Operation *op) {
    StringRef word = wordFor(op);
    if (!word.empty() && seen.insert(word).second)
      summary += (summary.empty() ? "" : ", ") + word.str();
  });
  return summary.empty() ? "copy" : summary;
}

static LogicalResult writeCpuKernels(plan::PlanT &plan, ModuleOp module,
                                     ArrayRef<KernelRequest> requests,
                                     const TargetOptions &target) {
  llvm::Expected<CpuTarget> processor = resolveTarget(target);
  if (!processor)
    return module.emitError(toString(processor.takeError()));
  FailureOr<KernelObject> object = compileKernels(requests, target);
  if (failed(object))
    return failure();
  plan.object.assign(object->elf.begin(), object->elf.end());
  plan.target->kind = "cpu";
  plan.target->processor = processor->cpu;
  plan.target->features = object->cpuFeatures;
  for (auto [kernel, maxParts] :
       llvm::zip_equal(plan.kernels, object->maxParts))
    kernel->max_parts = maxParts;
  return success();
}

static LogicalResult writeGpuKernels(plan::PlanT &plan,
                                     ArrayRef<KernelRequest> requests,
                                     const TargetOptions &target) {
  FailureOr<GpuCode> code = compileGpuKernels(requests, target);
  if (failed(code))
    return failure();
  plan.ptx = std::move(code->ptx);
  plan.object.assign(code->cubin.begin(), code->cubin.end());
  plan.target->kind = "cuda";
  plan.target->processor = target.gpu;
  for (auto [kernel, grid] : llvm::zip_equal(plan.kernels, code->grids)) {
    kernel->grid = std::make_unique<plan::GridT>();
    kernel->grid->blocks = grid.blocks;
    kernel->grid->threads = grid.threads;
    kernel->grid->shared_bytes = grid.sharedBytes;
    kernel->grid->launch_shared_bytes = grid.launchSharedBytes;
    kernel->grid->workspace_bytes = grid.workspaceBytes;
    kernel->grid->registers = grid.registers;
    kernel->grid->spill_bytes = grid.spillBytes;
    kernel->grid->max_batch = grid.maxBatch;
  }
  return success();
}

LogicalResult writeKernels(plan::PlanT &plan, ModuleOp module,
                           const PlanTables &tables,
                           const TargetOptions &target) {
  std::vector<KernelRequest> requests;
  for (const PlanTables::Kernel &kernel : tables.kernels) {
    auto out = std::make_unique<plan::KernelT>();
    out->symbol = "kernel_" + std::to_string(requests.size());
    out->summary = summarize(kernel.function);
    for (const auto &[name, count] : countFunctions(kernel.function)) {
      auto calls = std::make_unique<plan::FunctionCountT>();
      calls->name = name;
      calls->count = count;
      out->functions.push_back(std::move(calls));
    }
    requests.push_back(
        {kernel.function, kernel.inPlace, out->symbol, kernel.maxBatch});
    plan.kernels.push_back(std::move(out));
  }
  plan.target = std::make_unique<plan::TargetT>();
  if (!target.machineCode) {
    plan.target->kind = "none";
    return success();
  }
  if (target.isCuda())
    return writeGpuKernels(plan, requests, target);
  return writeCpuKernels(plan, module, requests, target);
}

} // namespace weft
