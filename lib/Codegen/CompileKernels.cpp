//===- CompileKernels.cpp - Kernels to machine code -----------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Codegen/CompileKernels.h"
#include "CompilerIdentity.h"
#include "EmitKernel.h"
#include "InPlaceResults.h"
#include "LinkObject.h"
#include "LowerToLlvm.h"
#include "MachineCodeCache.h"
#include "ObjectFolder.h"
#include "TranslateModule.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Target/TargetMachine.h"

#include <limits>

using namespace mlir;
using namespace weft;

static FailureOr<KernelObject> fail(func::FuncOp kernel, llvm::Error error) {
  return kernel.emitError(llvm::toString(std::move(error)));
}

/// All that machine code depends on.
static std::string describe(ModuleOp module, const CpuTarget &target) {
  std::string text = compilerIdentity() + "\n" + target.cpu + " " +
                     target.featureString() + "\n";
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags()
                           .useLocalScope()
                           .assumeVerified()
                           .elideLargeElementsAttrs(
                               std::numeric_limits<int64_t>::max()));
  return text;
}

namespace {
/// A kernel on its way to machine code.
struct Emitted {
  MachineCodeCache::Key key;
  /// Where it was compiled before.
  MachineCodeCache::Object object;
  /// Else a module of its own.
  ModuleOp module;
};
} // namespace

/// What this process or, by way of the folder, another one compiled before;
/// else null.
static MachineCodeCache::Object
findObject(const MachineCodeCache::Key &key,
           const std::optional<ObjectFolder> &folder) {
  MachineCodeCache &cache = MachineCodeCache::ofProcess();
  if (MachineCodeCache::Object object = cache.find(key))
    return object;
  if (folder)
    if (auto object = folder->find(llvm::toHex(key)))
      return cache.add(key, std::move(*object));
  return nullptr;
}

/// Compiles what was not compiled before: modules within `all`.
static llvm::Error compile(MutableArrayRef<Emitted> kernels, ModuleOp all,
                           const CpuTarget &target,
                           std::optional<ObjectFolder> folder) {
  if (llvm::Error error = lowerToLlvmDialect(all))
    return error;
  auto translator = ModuleTranslator::create(target);
  if (!translator)
    return translator.takeError();
  for (Emitted &kernel : kernels) {
    if (kernel.object)
      continue;
    llvm::Expected<std::string> object = translator->translate(kernel.module);
    if (!object)
      return object.takeError();
    kernel.object =
        MachineCodeCache::ofProcess().add(kernel.key, std::move(*object));
    // One warning is enough.
    if (folder && !folder->addOrWarn(llvm::toHex(kernel.key), *kernel.object,
                                     all.getLoc()))
      folder.reset();
  }
  return llvm::Error::success();
}

static llvm::Expected<std::string> link(ArrayRef<Emitted> compiled,
                                        ArrayRef<KernelRequest> requests) {
  std::vector<NamedObject> objects;
  for (auto [kernel, request] : llvm::zip_equal(compiled, requests))
    objects.push_back({*kernel.object, request.symbol});
  return linkSharedObject(objects);
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
  OwningOpRef<ModuleOp> all = ModuleOp::create(first.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(all->getBody());
  bool valid = true;
  const std::optional<ObjectFolder> folder = ObjectFolder::ofEnvironment();
  std::vector<Emitted> emitted;
  std::vector<int64_t> maxParts;
  for (const KernelRequest &request : kernels) {
    auto inPlace = checkInPlace(request, NestOrder::InTurn);
    valid &= succeeded(inPlace);
    if (failed(inPlace))
      continue;
    auto module = ModuleOp::create(builder, first.getLoc());
    auto parts = emitKernel(module, request.kernel, *inPlace, kObjectSymbol);
    valid &= succeeded(parts);
    maxParts.push_back(succeeded(parts) ? *parts : 1);
    auto key = MachineCodeCache::keyOf(describe(module, *target));
    emitted.push_back({key, findObject(key, folder), module});
    if (emitted.back().object)
      module.erase();
  }
  if (!valid)
    return failure();
  if (llvm::Error error = compile(emitted, *all, *target, folder))
    return fail(first, std::move(error));
  llvm::Expected<std::string> elf = link(emitted, kernels);
  if (!elf)
    return fail(first, elf.takeError());
  return KernelObject{std::move(*elf), target->cpu, target->features,
                      std::move(maxParts)};
}
