//===- CompileGpuKernels.cpp - Kernels to PTX and cubins ------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Codegen/CompileGpuKernels.h"
#include "EmitGpuKernel.h"
#include "Ptxas.h"
#include "TranslatePtx.h"

#include "../InPlaceResults.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;

/// Adds the cubin, and what is known of the kernels by it.
static llvm::Error assemble(GpuCode &code, ArrayRef<KernelRequest> kernels,
                            const TargetOptions &options) {
  auto program = findPtxas(options.ptxas);
  if (!program)
    return program.takeError();
  if (!*program)
    return llvm::Error::success();
  auto assembled = runPtxas(**program, code.ptx, options.gpu);
  if (!assembled)
    return assembled.takeError();
  code.cubin = std::move(assembled->cubin);
  for (auto [kernel, grid] : llvm::zip_equal(kernels, code.grids)) {
    KernelUsage usage = assembled->usage.lookup(kernel.symbol);
    grid.registers = usage.registers;
    grid.spillBytes = usage.spillBytes;
  }
  return llvm::Error::success();
}

FailureOr<GpuCode> weft::compileGpuKernels(ArrayRef<KernelRequest> kernels,
                                           const TargetOptions &options) {
  GpuCode code;
  if (kernels.empty())
    return code;
  func::FuncOp first = kernels.front().kernel;
  first.getContext()
      ->loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect, scf::SCFDialect,
                    vector::VectorDialect, math::MathDialect,
                    arith::ArithDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(first.getLoc());
  bool valid = true;
  for (const KernelRequest &request : kernels) {
    auto inPlace = checkInPlace(request, NestOrder::AtOnce);
    valid &= succeeded(inPlace);
    if (failed(inPlace))
      continue;
    auto grid = emitGpuKernel(*module, request.kernel, *inPlace, request.symbol,
                              request.maxBatch);
    valid &= succeeded(grid);
    if (succeeded(grid))
      code.grids.push_back(*grid);
  }
  if (!valid)
    return failure();
  llvm::Expected<std::string> ptx = translatePtx(*module, options.gpu);
  if (!ptx)
    return first.emitError(llvm::toString(ptx.takeError()));
  code.ptx = std::move(*ptx);
  if (llvm::Error error = assemble(code, kernels, options))
    return first.emitError(llvm::toString(std::move(error)));
  return code;
}
