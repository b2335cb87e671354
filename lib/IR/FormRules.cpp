//===- FormRules.cpp - Rules of several forms -----------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/FormRules.h"
#include "weft/IR/NarrowFloats.h"
#include "weft/IR/Origin.h"
#include "weft/IR/Segments.h"
#include "weft/IR/ValueSharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;

SmallVector<func::FuncOp> weft::findPrograms(ModuleOp module) {
  SmallVector<func::FuncOp> programs;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() &&
        !function->hasAttr(WeftDialect::kKernelAttrName))
      programs.push_back(function);
  return programs;
}

//===----------------------------------------------------------------------===//
// Every form
//===----------------------------------------------------------------------===//

void weft::checkOneMesh(ModuleOp module, FormCheck &check) {
  MeshOp first = findMesh(module);
  for (auto mesh : module.getOps<MeshOp>())
    if (mesh != first)
      check.error(mesh.getLoc())
          << "a program has one mesh, but @" << mesh.getSymName()
          << " is declared beside @" << first.getSymName();
}

void weft::checkModuleOps(ModuleOp module, FormCheck &check) {
  for (Operation &op : *module.getBody()) {
    if (isa<MeshOp>(op))
      continue;
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      check.error(op.getLoc())
          << "a module holds weft.mesh and func.func, got " << op.getName();
  }
}

void weft::checkBodies(ModuleOp module, FormCheck &check) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isExternal() && !getTimeline(function))
      check.error(function.getLoc())
          << "function @" << function.getSymName() << " has no body";
}

void weft::checkOneBlock(ModuleOp module, FormCheck &check) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && !function.getBody().hasOneBlock())
      check.error(function.getLoc())
          << "function @" << function.getSymName() << " must have one block, "
          << "got " << function.getBody().getBlocks().size();
}

namespace {
/// Where a name was seen first: what it names, and with which type.
struct Named {
  std::string what;
  Type type;
};
} // namespace

/// Names are unique among the arguments and among the results of a function;
/// a state has one type wherever it occurs.
void weft::checkNames(ModuleOp module, FormCheck &check) {
  llvm::StringMap<Named> inputs, outputs;
  for (func::FuncOp function : findPrograms(module)) {
    llvm::StringMap<unsigned> ofFunction;
    auto add = [&](llvm::StringMap<Named> &names, Location loc, StringRef kind,
                   std::string name, unsigned index, Type type) {
      auto [previous, isNew] = ofFunction.try_emplace(name, index);
      if (!isNew)
        check.error(loc) << kind << " " << index << " of @"
                         << function.getSymName() << " is named \"" << name
                         << "\" as " << kind << " " << previous->second
                         << " is";
      names.try_emplace(name, Named{(kind + " " + Twine(index) + " of @" +
                                     function.getSymName())
                                        .str(),
                                    type});
    };
    for (BlockArgument argument : function.getArguments())
      add(inputs, argument.getLoc(), "argument",
          getArgumentName(function, argument.getArgNumber()),
          argument.getArgNumber(), argument.getType());
    ofFunction.clear();
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      add(outputs, function.getLoc(), "result", getResultName(function, index),
          index, type);
  }

  for (func::FuncOp function : findPrograms(module)) {
    auto verifyState = [&](Location loc, const Twine &what, StringRef name,
                           Type type) {
      auto input = inputs.find(name);
      if (input == inputs.end() || !outputs.count(name) ||
          input->second.type == type)
        return;
      check.error(loc) << "state \"" << name << "\" must have one type, got "
                       << type << " as " << what << " of @"
                       << function.getSymName() << " and " << input->second.type
                       << " as " << input->second.what;
    };
    for (BlockArgument argument : function.getArguments())
      verifyState(argument.getLoc(),
                  "argument " + Twine(argument.getArgNumber()),
                  getArgumentName(function, argument.getArgNumber()),
                  argument.getType());
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      verifyState(function.getLoc(), "result " + Twine(index),
                  getResultName(function, index), type);
  }
}

//===----------------------------------------------------------------------===//
// Forms 1 to 3
//===----------------------------------------------------------------------===//

void weft::checkGradients(ModuleOp module, FormCheck &check) {
  llvm::StringSet<> known;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttr(i, WeftDialect::kParameterAttrName))
        known.insert(getArgumentName(function, i));
  if (auto others = module->getAttrOfType<ArrayAttr>(kDifferentiatedAttrName))
    for (auto name : others.getAsRange<StringAttr>())
      known.insert(name.getValue());
  auto verify = [&](Operation *op, Attribute attribute) {
    StringRef name = gradientOf(dyn_cast<OriginAttr>(attribute));
    if (!name.empty() && !known.contains(name))
      check.error(op->getLoc())
          << op->getName() << " makes the gradient of \"" << name
          << "\", which is no argument with weft.parameter and not in "
          << kDifferentiatedAttrName << " of the module";
  };
  for (func::FuncOp function : findPrograms(module))
    function.walk([&](Operation *op) {
      if (Attribute origin = op->getAttr(WeftDialect::kOriginAttrName))
        verify(op, origin);
      if (auto each =
              op->getAttrOfType<ArrayAttr>(WeftDialect::kResultOriginsAttrName))
        for (Attribute origin : each)
          verify(op, origin);
    });
}

/// Sizes in bytes are computed with 64 bits.
static constexpr int64_t kMaxElements = int64_t(1) << 59;

static bool isProgramTensor(Type type, bool mayBeEmpty) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding())
    return false;
  int64_t elements = 1;
  for (int64_t size : tensor.getShape())
    if ((size == 0 && !mayBeEmpty) ||
        llvm::MulOverflow(elements, size, elements) || elements > kMaxElements)
      return false;
  Type element = tensor.getElementType();
  return element.isF32() || isNarrowFloat(element) || element.isF64() ||
         element.isInteger(1) || element.isInteger(8) ||
         element.isInteger(16) || element.isInteger(32) ||
         element.isInteger(64);
}

/// Nothing is computed with what has no elements: it is an argument or a
/// constant, and a result.
static void verifyTensor(Location loc, const Twine &what, Type type,
                         bool mayBeEmpty, FormCheck &check) {
  if (!isProgramTensor(type, mayBeEmpty))
    check.error(loc)
        << what
        << " must be a ranked tensor with static, positive sizes, at most "
           "2^59 elements, of f32, bf16, f16, f64, i64, i32, i16, i8 or i1, "
           "got "
        << type;
}

static void verifySignature(func::FuncOp function, FormCheck &check) {
  std::string of = (" of @" + function.getSymName()).str();
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    verifyTensor(function.isExternal() ? function.getLoc()
                                       : function.getArgument(index).getLoc(),
                 "argument " + Twine(index) + of, type, /*mayBeEmpty=*/true,
                 check);
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    verifyTensor(function.getLoc(), "result " + Twine(index) + of, type,
                 /*mayBeEmpty=*/true, check);
}

void weft::checkTensorTypes(ModuleOp module, FormCheck &check) {
  // Many results have few types, and every pass checks them.
  llvm::SmallDenseSet<Type> known;
  auto isKnown = [&](Type type) {
    if (known.contains(type))
      return true;
    const bool isRight = isProgramTensor(type, /*mayBeEmpty=*/false);
    if (isRight)
      known.insert(type);
    return isRight;
  };
  for (func::FuncOp function : findPrograms(module)) {
    verifySignature(function, check);
    function.walk([&](Operation *op) {
      if (op == function || isStart(op))
        return;
      for (OpResult result : op->getResults())
        if (!isKnown(result.getType()))
          verifyTensor(op->getLoc(),
                       "result " + Twine(result.getResultNumber()) + " of " +
                           op->getName().getStringRef(),
                       result.getType(), isa<arith::ConstantOp>(op), check);
    });
  }
}

void weft::checkKernelTypes(ModuleOp module, FormCheck &check) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(WeftDialect::kKernelAttrName))
      verifySignature(function, check);
}

void weft::checkNoKernels(ModuleOp module, FormCheck &check) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(WeftDialect::kKernelAttrName))
      check.error(function.getLoc())
          << "kernel @" << function.getSymName()
          << " is there before --weft-fuse-kernels makes kernels";
}

void weft::checkGlobalTypes(ModuleOp module, FormCheck &check) {
  auto verify = [&](Location loc, const Twine &what, Type type,
                    TypeAttr globalAttr) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!globalAttr || !tensor)
      return;
    auto global = cast<RankedTensorType>(globalAttr.getValue());
    if (llvm::any_of(
            llvm::zip_equal(tensor.getShape(), global.getShape()),
            [](auto sizes) { return std::get<0>(sizes) < std::get<1>(sizes); }))
      check.error(loc) << what << " must have at least the sizes of its "
                       << WeftDialect::kGlobalTypeAttrName << " " << global
                       << ", got " << type
                       << ", a shard: the program is an SPMD program already";
  };
  StringRef global = WeftDialect::kGlobalTypeAttrName;
  for (func::FuncOp function : findPrograms(module)) {
    std::string of = (" of @" + function.getSymName()).str();
    for (BlockArgument argument : function.getArguments())
      verify(
          argument.getLoc(), "argument " + Twine(argument.getArgNumber()) + of,
          argument.getType(),
          function.getArgAttrOfType<TypeAttr>(argument.getArgNumber(), global));
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      verify(function.getLoc(), "result " + Twine(index) + of, type,
             function.getResultAttrOfType<TypeAttr>(index, global));
  }
}

bool weft::isOfProgramDialect(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect, WeftDialect>(
      op->getDialect());
}

/// Reports `op` if it is none of a graph.
static void checkGraphOp(Operation &op, FormCheck &check) {
  if (isa<func::ReturnOp>(op))
    return;
  if (isa<func::CallOp>(op))
    check.error(op.getLoc())
        << "a graph holds no calls; run --weft-inline-calls before";
  else if (isa<CheckpointNameOp, CheckpointOp, StopGradientOp, ValueAndGradOp>(
               op))
    check.error(op.getLoc()) << "a graph holds no " << op.getName()
                             << "; run --weft-autodiff before";
  else if (isa<StageBoundaryOp>(op))
    check.error(op.getLoc()) << "a graph holds no " << op.getName()
                             << "; run --weft-assign-stages before";
  else if (isa<DecompositionOpInterface>(op) &&
           !isa<ShardingRuleOpInterface>(op))
    check.error(op.getLoc()) << "a graph holds no " << op.getName()
                             << "; run --weft-decompose before";
  else if (!isOfProgramDialect(&op))
    check.error(op.getLoc())
        << "a graph holds ops of arith, math and weft, got " << op.getName();
  else if (!isa<ShardingRuleOpInterface>(op))
    check.error(op.getLoc())
        << op.getName()
        << " is no op of a graph: it states no sharding rule; implement "
           "ShardingRuleOpInterface for it or write it with other ops";
}

void weft::checkGraphOps(ModuleOp module, FormCheck &check) {
  for (func::FuncOp function : findPrograms(module))
    for (Operation &op : function.getBody().getOps())
      checkGraphOp(op, check);
}
