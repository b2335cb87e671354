//===- ProgramGraph.cpp - The propagation graph of a module ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramGraph.h"

#include "weft/IR/AxisProvenance.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace weft::propagation {

ProgramGraph::ProgramGraph(ModuleOp module, MeshOp mesh)
    : mesh(mesh.getMesh().toMesh()), module(module), meshOp(mesh) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal())
      functions.push_back(function);
}

ShardingAttr findAnnotation(OpResult result) {
  if (auto constraint = dyn_cast<ConstraintOp>(result.getOwner()))
    return constraint.getSharding();
  if (auto reshard = dyn_cast<ReshardOp>(result.getOwner()))
    return reshard.getSharding();
  return getSharding(result);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

LogicalResult ProgramGraph::read() {
  findStates();
  bool failed = false;
  for (func::FuncOp function : functions) {
    if (!function.getBody().hasOneBlock()) {
      failed = true;
      function.emitError() << "function @" << function.getSymName()
                           << " must have one block, got "
                           << function.getBody().getBlocks().size();
      continue;
    }
    failed |= mlir::failed(readValues(function));
  }
  if (failed)
    return failure();
  for (auto [function, results] : llvm::zip(functions, resultIds))
    addTies(function, results);
  for (func::FuncOp function : functions)
    for (Operation &op : function.getBody().front().without_terminator())
      addNode(op);
  return success();
}

/// A state is a name that is both an argument and a result of some entries.
void ProgramGraph::findStates() {
  llvm::StringSet<> arguments;
  for (func::FuncOp function : functions)
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      arguments.insert(getArgumentName(function, index));
  for (func::FuncOp function : functions)
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (std::string name = getResultName(function, index);
          arguments.contains(name))
        states.try_emplace(name, -1);
}

FailureOr<std::optional<sharding::Sharding>>
ProgramGraph::resolve(ShardingAttr annotation, const ValueSite &site) {
  if (!annotation)
    return std::optional<sharding::Sharding>();
  if (annotation.getMesh().getValue() != meshOp.getSymName())
    return emitError(site.loc)
           << "sharding of " << describe(site) << " names mesh "
           << annotation.getMesh() << " but the mesh of the program is @"
           << meshOp.getSymName() << "; a program has one mesh";
  // The verifiers have checked every axis against the mesh.
  return std::optional(*annotation.toSharding(mesh));
}

FailureOr<ValueId> ProgramGraph::addValue(Type type, ShardingAttr annotation,
                                          const ValueSite &site,
                                          StringRef name) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return emitError(site.loc)
           << describe(site) << " must be a tensor of static shape, got "
           << type;
  auto sharding = resolve(annotation, site);
  if (failed(sharding))
    return failure();
  if (states.contains(name))
    return addState(name, tensor, std::move(*sharding), site);
  sites.push_back(site);
  return graph.addValue(tensor.getShape(), std::move(*sharding));
}

FailureOr<ValueId>
ProgramGraph::addState(StringRef name, RankedTensorType type,
                       std::optional<sharding::Sharding> sharding,
                       const ValueSite &site) {
  ValueId &id = states[name];
  if (id == -1) {
    sites.push_back(site);
    return id = graph.addValue(type.getShape(), std::move(sharding));
  }
  Value &known = graph.values[id];
  if (known.shape != sharding::Shape(type.getShape()))
    return emitError(site.loc)
           << "state \"" << name << "\" has type " << type << " as "
           << describe(site) << " but another shape as " << describe(sites[id]);
  if (!sharding)
    return id;
  if (known.sharding && *known.sharding != *sharding) {
    InFlightDiagnostic error =
        emitError(site.loc)
        << "state \"" << name << "\" has sharding " << print(mesh, *sharding)
        << " as " << describe(site) << " but " << print(mesh, *known.sharding)
        << " as " << describe(sites[id])
        << "; write it once, or the same everywhere";
    error.attachNote(sites[id].loc) << "the other is here";
    return failure();
  }
  if (!known.sharding) {
    known.sharding = std::move(sharding);
    sites[id] = site;
  }
  return id;
}

LogicalResult ProgramGraph::readValues(func::FuncOp function) {
  bool failed = false;
  auto add = [&](Type type, ShardingAttr annotation, const ValueSite &site,
                 StringRef name = {}) -> ValueId {
    FailureOr<ValueId> id = addValue(type, annotation, site, name);
    failed |= mlir::failed(id);
    return id.value_or(-1);
  };
  SmallVector<ValueId> &results = resultIds.emplace_back();
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    results.push_back(add(type, getResultSharding(function, index),
                          {function.getLoc(), {}, function, unsigned(index)},
                          getResultName(function, index)));
  for (BlockArgument argument : function.getArguments())
    ids[argument] = add(argument.getType(), getSharding(argument),
                        {argument.getLoc(), argument, function},
                        getArgumentName(function, argument.getArgNumber()));
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (!isa<ShardingRuleOpInterface>(op)) {
      failed = true;
      op.emitOpError("has no sharding rule; lower it to ops of arith, math and "
                     "weft, or implement ShardingRuleOpInterface");
      continue;
    }
    for (OpResult result : op.getResults())
      ids[result] = add(result.getType(), findAnnotation(result),
                        {op.getLoc(), result, {}});
  }
  return failure(failed);
}

/// What is returned is tied to the result, unless the two are one state.
void ProgramGraph::addTies(func::FuncOp function, ArrayRef<ValueId> results) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [returned, result] :
       llvm::zip_equal(terminator->getOperands(), results)) {
    ValueId id = ids.lookup(returned);
    if (id == result)
      continue;
    graph.addTie(id, result);
    ops.push_back(nullptr);
  }
}

void ProgramGraph::addNode(Operation &op) {
  auto toId = [&](mlir::Value value) { return ids.lookup(value); };
  bool singleUse = llvm::all_of(op.getOperands(), [](mlir::Value operand) {
    return cast<RankedTensorType>(operand.getType()).getRank() == 0 ||
           operand.hasOneUse();
  });
  graph.addNode(
      graph.addRule(cast<ShardingRuleOpInterface>(op).getPropagationRule()),
      llvm::map_to_vector(op.getOperands(), toId),
      llvm::map_to_vector(op.getResults(), toId), singleUse);
  ops.push_back(&op);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

ShardingAttr ProgramGraph::toAttr(ValueId id) {
  return ShardingAttr::get(module.getContext(),
                           FlatSymbolRefAttr::get(meshOp.getSymNameAttr()),
                           mesh, closedSharding(graph.values[id]));
}

/// `attributes` with what is known of the value.
DictionaryAttr ProgramGraph::withSharding(DictionaryAttr attributes,
                                          ValueId id) {
  NamedAttrList list(attributes);
  list.set(WeftDialect::kShardingAttrName, toAttr(id));
  if (!provenance.empty() && !provenance[id].empty())
    list.set(kProvenanceAttrName, provenance[id]);
  return list.getDictionary(module.getContext());
}

/// Sets the attributes of all arguments at once: setting them one by one takes
/// time quadratic in their number.
void ProgramGraph::writeSignature(func::FuncOp function,
                                  ArrayRef<ValueId> results) {
  SmallVector<DictionaryAttr> attributes;
  for (BlockArgument argument : function.getArguments())
    attributes.push_back(
        withSharding(function.getArgAttrDict(argument.getArgNumber()),
                     ids.lookup(argument)));
  function.setAllArgAttrs(attributes);
  attributes.clear();
  for (auto [index, id] : llvm::enumerate(results))
    attributes.push_back(withSharding(function.getResultAttrDict(index), id));
  function.setAllResultAttrs(attributes);
}

void ProgramGraph::write() {
  for (auto [function, results] : llvm::zip(functions, resultIds))
    writeSignature(function, results);
  for (auto [op, node] : llvm::zip_equal(ops, graph.nodes)) {
    if (!op || node.results.empty())
      continue;
    SmallVector<Attribute, 1> shardings;
    for (ValueId id : node.results)
      shardings.push_back(toAttr(id));
    if (auto constraint = dyn_cast<ConstraintOp>(op))
      constraint.setShardingAttr(cast<ShardingAttr>(shardings.front()));
    if (auto reshard = dyn_cast<ReshardOp>(op))
      reshard.setShardingAttr(cast<ShardingAttr>(shardings.front()));
    op->setAttr(WeftDialect::kShardingsAttrName,
                ArrayAttr::get(module.getContext(), shardings));
    if (provenance.empty())
      continue;
    auto ofResults = llvm::map_to_vector<1>(
        node.results, [&](ValueId id) -> Attribute { return provenance[id]; });
    if (llvm::all_of(node.results,
                     [&](ValueId id) { return provenance[id].empty(); }))
      continue;
    op->setAttr(kProvenanceAttrName,
                ArrayAttr::get(module.getContext(), ofResults));
  }
}

} // namespace weft::propagation
