//===- IsolateOps.cpp - Every op on operands that it is given -------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/AxisProvenance.h"
#include "weft/IR/MeshDevices.h"
#include "weft/IR/ObservedValues.h"
#include "weft/IR/Passes.h"
#include "weft/IR/StagePipeline.h"
#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/IR/WeftOps.h"

namespace weft {
#define GEN_PASS_DEF_ISOLATEOPS
#include "weft/IR/Passes.h.inc"
} // namespace weft

using namespace mlir;
using namespace weft;

/// What is said of an argument or result, with a name and without a sharding.
static DictionaryAttr named(MLIRContext *context, StringRef name,
                            DictionaryAttr attr = {}) {
  NamedAttrList attrs(attr);
  attrs.erase(WeftDialect::kShardingAttrName);
  attrs.erase(kProvenanceAttrName);
  attrs.set(WeftDialect::kNameAttrName, StringAttr::get(context, name));
  return attrs.getDictionary(context);
}

/// Makes the function one of a single device.
static void removeShardings(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    removeShardings(&op);
    op.removeAttr(kProvenanceAttrName);
    if (auto constraint = dyn_cast<ConstraintOp>(op)) {
      constraint.getResult().replaceAllUsesWith(constraint.getOperand());
      constraint.erase();
    }
  }
}

static void isolate(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  Block &block = function.getBody().front();
  SmallVector<DictionaryAttr> arguments, results;
  for (BlockArgument argument : block.getArguments())
    arguments.push_back(
        named(context, getArgumentName(function, argument.getArgNumber()),
              function.getArgAttrDict(argument.getArgNumber())));
  removeShardings(function);
  const Microbatches microbatches(block);
  OpBuilder atBegin = OpBuilder::atBlockBegin(&block),
            atEnd = OpBuilder::atBlockTerminator(&block);
  SmallVector<Value> made;
  for (Operation &op : block.without_terminator()) {
    std::optional<NumberedOp> numbered = getNumbered(&op);
    if (!numbered)
      continue;
    op.removeAttr(kNumberedAttrName);
    for (OpResult result : op.getResults()) {
      int64_t number = numbered->number + result.getResultNumber();
      const MicrobatchesAttr loop = microbatches.loopOf(result);
      results.push_back(named(context, valueName(number)));
      if (!llvm::all_of(result.getUsers(), llvm::IsaPred<func::ReturnOp>)) {
        arguments.push_back(named(context, givenName(number)));
        Value given =
            block.addArgument(typeOfAll(typeOf(result), loop), result.getLoc());
        if (loop)
          given = MicrobatchSliceOp::create(atBegin, result.getLoc(),
                                            result.getType(), given, 0, loop);
        result.replaceAllUsesWith(given);
      }
      made.push_back(loop ? stackAll(atEnd, result, loop) : Value(result));
    }
  }
  Operation *ret = block.getTerminator();
  ret->setOperands(made);
  function.setType(FunctionType::get(context, block.getArgumentTypes(),
                                     ret->getOperandTypes()));
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);
}

namespace {
struct IsolateOps : weft::impl::IsolateOpsBase<IsolateOps> {
  void runOnInput() override {
    ModuleOp module = getOperation();
    removeStages(module);
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        isolate(function);
    if (MeshOp mesh = findMesh(module)) {
      MLIRContext *context = &getContext();
      mesh.setMeshAttr(
          MeshAttr::get(context, {MeshAxisAttr::get(context, "device", 1)}));
      mesh->removeAttr(kDevicesAttrName);
    }
  }
};
} // namespace
