//===- ValueSharding.cpp - The sharding of a value ------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/IR/ValueSharding.h"

using namespace mlir;
using namespace weft;

static constexpr StringRef kSharding = WeftDialect::kShardingAttrName;
static constexpr StringRef kShardings = WeftDialect::kShardingsAttrName;

ShardingAttr weft::getSharding(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto all = result.getOwner()->getAttrOfType<ArrayAttr>(kShardings);
    if (!all || result.getResultNumber() >= all.size())
      return {};
    return dyn_cast<ShardingAttr>(all[result.getResultNumber()]);
  }
  auto argument = cast<BlockArgument>(value);
  auto function =
      dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function)
    return {};
  return function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(),
                                                 kSharding);
}

/// An open sharding for each ranked result of `op`, or those it has.
static SmallVector<Attribute> getOrOpenShardings(Operation *op,
                                                 FlatSymbolRefAttr mesh) {
  return llvm::map_to_vector(op->getResults(), [&](OpResult result) {
    if (ShardingAttr sharding = getSharding(result))
      return Attribute(sharding);
    auto type = dyn_cast<RankedTensorType>(result.getType());
    return Attribute(ShardingAttr::getOpen(mesh, type ? type.getRank() : 0));
  });
}

void weft::setSharding(Value value, ShardingAttr sharding) {
  if (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    SmallVector<Attribute> all = getOrOpenShardings(op, sharding.getMesh());
    all[result.getResultNumber()] = sharding;
    op->setAttr(kShardings, ArrayAttr::get(op->getContext(), all));
    return;
  }
  auto argument = cast<BlockArgument>(value);
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  function.setArgAttr(argument.getArgNumber(), kSharding, sharding);
}

void weft::removeShardings(Operation *op) { op->removeAttr(kShardings); }

ShardingAttr weft::getResultSharding(func::FuncOp function, unsigned index) {
  return function.getResultAttrOfType<ShardingAttr>(index, kSharding);
}

void weft::setResultSharding(func::FuncOp function, unsigned index,
                             ShardingAttr sharding) {
  function.setResultAttr(index, kSharding, sharding);
}

std::string weft::getArgumentName(func::FuncOp function, unsigned index) {
  if (auto name = function.getArgAttrOfType<StringAttr>(
          index, WeftDialect::kNameAttrName))
    return name.str();
  return "arg" + std::to_string(index);
}

std::string weft::getResultName(func::FuncOp function, unsigned index) {
  if (auto name = function.getResultAttrOfType<StringAttr>(
          index, WeftDialect::kNameAttrName))
    return name.str();
  return "result" + std::to_string(index);
}

RankedTensorType weft::getGlobalArgumentType(func::FuncOp function,
                                             unsigned index) {
  if (auto type = function.getArgAttrOfType<TypeAttr>(
          index, WeftDialect::kGlobalTypeAttrName))
    return dyn_cast<RankedTensorType>(type.getValue());
  return dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
}

RankedTensorType weft::getGlobalResultType(func::FuncOp function,
                                           unsigned index) {
  if (auto type = function.getResultAttrOfType<TypeAttr>(
          index, WeftDialect::kGlobalTypeAttrName))
    return dyn_cast<RankedTensorType>(type.getValue());
  return dyn_cast<RankedTensorType>(function.getResultTypes()[index]);
}

MeshOp weft::findMesh(Operation *from) {
  auto module = dyn_cast<ModuleOp>(from);
  if (!module)
    module = from->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

MeshOp weft::findMesh(Operation *from, FlatSymbolRefAttr symbol) {
  return SymbolTable::lookupNearestSymbolFrom<MeshOp>(from, symbol);
}

std::vector<std::string>
weft::checkShardingAttr(Operation *from, ShardingAttr sharding, size_t rank) {
  MeshOp op = findMesh(from, sharding.getMesh());
  if (!op)
    return {"unknown mesh @" + sharding.getMesh().getValue().str() +
            "; declare it in the module with weft.mesh"};
  sharding::Mesh mesh = op.getMesh().toMesh();
  std::vector<std::string> problems;
  FailureOr<sharding::Sharding> resolved = sharding.toSharding(
      mesh, [&](const Twine &text) { problems.push_back(text.str()); });
  if (failed(resolved))
    return problems;
  return sharding::checkSharding(mesh, *resolved, rank);
}
