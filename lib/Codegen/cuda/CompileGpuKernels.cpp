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
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace weft;

/// Asks for no more than so many blocks on a processor at once, by symbol.
static std::string askForBlocks(StringRef ptx,
                                const llvm::StringMap<int64_t> &blocks) {
  std::string result;
  StringRef kernel;
  for (StringRef line : llvm::split(ptx, '\n')) {
    result += (line + "\n").str();
    if (line.contains(".entry "))
      kernel = line.split(".entry ").second.split('(').first;
    if (auto found = blocks.find(kernel);
        line.starts_with(".maxntid") && found != blocks.end())
      result += (".minnctapersm " + Twine(found->second) + "\n").str();
  }
  return result;
}

/// Assembles `ptx`. By itself ptxas aims for many threads at once, and spills
/// some bytes for it, most often around the slow path of a division. Kernels
/// that it does that to get room for 1024 threads only, and if that is not
/// enough, for one block.
static llvm::Expected<Assembled>
assembleWithoutSpills(StringRef program, std::string &ptx,
                      ArrayRef<KernelRequest> kernels,
                      ArrayRef<KernelGrid> grids, StringRef processor) {
  const std::string original = ptx;
  func::FuncOp first = kernels.front().kernel;
  llvm::StringMap<int64_t> blocks;
  for (int64_t threads : {1024, 0}) {
    auto assembled = runPtxas(first.getLoc(), program, ptx, processor);
    if (!assembled)
      return assembled;
    bool spills = false;
    for (auto [kernel, grid] : llvm::zip_equal(kernels, grids)) {
      if (assembled->usage.lookup(kernel.symbol).spillBytes == 0)
        continue;
      spills = true;
      blocks[kernel.symbol] = std::max<int64_t>(1, threads / grid.threads);
    }
    if (!spills)
      return assembled;
    ptx = askForBlocks(original, blocks);
  }
  return runPtxas(first.getLoc(), program, ptx, processor);
}

/// Adds the cubin, and what is known of the kernels by it.
static llvm::Error assemble(GpuCode &code, ArrayRef<KernelRequest> kernels,
                            const TargetOptions &options) {
  auto program = findPtxas(options.ptxas);
  if (!program)
    return program.takeError();
  if (!*program)
    return llvm::Error::success();
  auto assembled = assembleWithoutSpills(**program, code.ptx, kernels,
                                         code.grids, options.gpu);
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

void weft::registerGpuKernelDialects(DialectRegistry &registry) {
  registry
      .insert<LLVM::LLVMDialect, NVVM::NVVMDialect, scf::SCFDialect,
              vector::VectorDialect, math::MathDialect, arith::ArithDialect>();
}

FailureOr<GpuCode> weft::compileGpuKernels(ArrayRef<KernelRequest> kernels,
                                           const TargetOptions &options) {
  GpuCode code;
  if (kernels.empty())
    return code;
  func::FuncOp first = kernels.front().kernel;
  DialectRegistry dialects;
  registerGpuKernelDialects(dialects);
  first.getContext()->appendDialectRegistry(dialects);
  for (StringRef name : dialects.getDialectNames())
    first.getContext()->getOrLoadDialect(name);
  OwningOpRef<ModuleOp> module = ModuleOp::create(first.getLoc());
  bool valid = true;
  for (const KernelRequest &request : kernels) {
    auto inPlace = checkInPlace(request, NestOrder::AtOnce);
    valid &= succeeded(inPlace);
    if (failed(inPlace))
      continue;
    auto grid = emitGpuKernel(*module, request.kernel, *inPlace, request.symbol,
                              request.maxBatch, sharedMemoryOf(options.gpu));
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
