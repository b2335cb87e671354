//===- CompileKernels.cpp - Kernels to machine code -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Codegen/CompileKernels.h"
#include "EmitKernel.h"
#include "InPlaceResults.h"
#include "LinkObject.h"
#include "TranslateModule.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;

static FailureOr<KernelObject> fail(func::FuncOp kernel, llvm::Error error) {
  return kernel.emitError(llvm::toString(std::move(error)));
}

FailureOr<KernelObject> weft::compileKernels(ArrayRef<KernelRequest> kernels,
                                             const TargetOptions &options) {
  if (kernels.empty())
    return KernelObject();
  func::FuncOp first = kernels.front().kernel;
  llvm::Expected<CpuTarget> target = resolveTarget(options);
  if (!target)
    return fail(first, target.takeError());

  first.getContext()
      ->loadDialect<LLVM::LLVMDialect, scf::SCFDialect, vector::VectorDialect,
                    math::MathDialect, arith::ArithDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(first.getLoc());
  bool valid = true;
  std::vector<int64_t> maxParts;
  for (const KernelRequest &request : kernels) {
    auto inPlace = checkInPlace(request, NestOrder::InTurn);
    valid &= succeeded(inPlace);
    if (failed(inPlace))
      continue;
    auto emitted =
        emitKernel(*module, request.kernel, *inPlace, request.symbol);
    valid &= succeeded(emitted);
    maxParts.push_back(succeeded(emitted) ? *emitted : 1);
  }
  if (!valid)
    return failure();
  llvm::Expected<std::string> object = translateModule(*module, *target);
  if (!object)
    return fail(first, object.takeError());
  llvm::Expected<std::string> elf = linkSharedObject(*object);
  if (!elf)
    return fail(first, elf.takeError());
  return KernelObject{std::move(*elf), target->cpu, target->features,
                      std::move(maxParts)};
}
