//===- SharedDimensions.cpp - Dimensions that are split together ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Search/SharedDimensions.h"

#include "Trial.h"

#include "weft/IR/TensorTypes.h"
#include "weft/IR/ValueSharding.h"
#include "weft/Schedule/ProgramStates.h"

#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace mlir;

namespace weft {

static std::set<std::string> resultNames(func::FuncOp entry) {
  std::set<std::string> names;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (entry.getResultAttr(i, WeftDialect::kNameAttrName))
      names.insert(getResultName(entry, i));
  return names;
}

func::FuncOp findStep(ModuleOp module) {
  SmallVector<func::FuncOp> entries = findEntries(module);
  for (func::FuncOp entry : entries) {
    const std::set<std::string> results = resultNames(entry);
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (results.count(getArgumentName(entry, i)))
        return entry;
  }
  return entries.empty() ? func::FuncOp() : entries.front();
}

std::vector<StepArgument> readArguments(func::FuncOp step) {
  const std::set<std::string> results = resultNames(step);
  std::vector<StepArgument> arguments;
  for (BlockArgument value : step.getArguments()) {
    StepArgument &each = arguments.emplace_back();
    each.name = getArgumentName(step, value.getArgNumber());
    each.shape = sharding::Shape(typeOf(value).getShape());
    each.bytes = bytesOf(value);
    each.isState = results.count(each.name);
  }
  step.walk([&](ValueAndGradOp op) {
    for (int64_t number : op.getWrt()) {
      Value value = op.getOperands()[number];
      // Casts, constraints and uses in micro-batches.
      while (Operation *made = value.getDefiningOp()) {
        if (made->getNumOperands() != 1)
          break;
        value = made->getOperand(0);
      }
      if (auto argument = dyn_cast<BlockArgument>(value);
          argument && argument.getOwner() == &step.front())
        arguments[argument.getArgNumber()].isParameter = true;
    }
  });
  return arguments;
}

std::optional<unsigned> SharedDimension::of(unsigned argument) const {
  auto found = members.lower_bound({argument, 0});
  if (found == members.end() || found->first != argument)
    return std::nullopt;
  return found->second;
}

bool SharedDimension::conflictsWith(const SharedDimension &other) const {
  return llvm::any_of(members, [&](const auto &member) {
    return other.of(member.first).has_value();
  });
}

//===----------------------------------------------------------------------===//
// What propagation reaches
//===----------------------------------------------------------------------===//

static constexpr StringRef kMesh = "dimensions", kAxis = "x";

using Members = std::set<std::pair<unsigned, unsigned>>;

/// What an axis reaches that splits a dimension of an argument; that alone if
/// the graph cannot be sharded so.
static Members findReached(ModuleOp graph, const StepArgument &argument,
                           unsigned number, unsigned dim) {
  MLIRContext *context = graph.getContext();
  const sharding::Mesh mesh({{kAxis.str(), 2}});
  sharding::Sharding split = sharding::Sharding::closed(argument.shape.size());
  split.dims[dim].axes.push_back(mesh.fullAxis(0));
  auto attr = ShardingAttr::get(context, FlatSymbolRefAttr::get(context, kMesh),
                                mesh, split);
  OwningOpRef<ModuleOp> copy = graph.clone();
  OpBuilder builder(copy->getBodyRegion());
  MeshOp::create(builder, graph.getLoc(), kMesh, MeshAttr::get(context, mesh));
  func::FuncOp step = findStep(*copy);
  setSharding(step.getArgument(number), attr);
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    if (getResultName(step, i) == argument.name)
      setResultSharding(step, i, attr);
  Members members = {{number, dim}};
  ScopedDiagnosticHandler quiet(context,
                                [](Diagnostic &) { return success(); });
  PassManager pm(context);
  pm.enableVerifier(false); // as where programs are compiled
  buildPropagatePipeline(pm);
  if (failed(pm.run(*copy)))
    return members;
  for (BlockArgument value : findStep(*copy).getArguments())
    if (ShardingAttr reached = getSharding(value))
      for (auto [index, axes] : llvm::enumerate(reached.getDims()))
        if (!axes.getAxes().empty())
          members.insert({value.getArgNumber(), unsigned(index)});
  return members;
}

/// A name without the indices of lists, and the shape: what layers that are
/// alike have in common.
static std::pair<std::string, sharding::Shape>
kindOf(const StepArgument &argument) {
  std::string name;
  for (size_t i = 0; i < argument.name.size(); ++i) {
    name.push_back(argument.name[i]);
    if (argument.name[i] != '[')
      continue;
    size_t end = i + 1;
    while (end < argument.name.size() && llvm::isDigit(argument.name[end]))
      ++end;
    if (end < argument.name.size() && argument.name[end] == ']')
      i = end - 1;
  }
  return {name, argument.shape};
}

/// With the dimensions of arguments of the same kinds, unless one kind has two
/// of them.
static void addAlike(Members &members, ArrayRef<StepArgument> arguments) {
  std::map<std::pair<std::string, sharding::Shape>, unsigned> dims;
  for (auto [number, dim] : members)
    if (dims.try_emplace(kindOf(arguments[number]), dim).first->second != dim)
      return;
  for (auto [number, argument] : llvm::enumerate(arguments))
    if (auto found = dims.find(kindOf(argument)); found != dims.end())
      members.insert({unsigned(number), found->second});
}

std::vector<SharedDimension>
findSharedDimensions(ModuleOp graph, ArrayRef<StepArgument> arguments) {
  std::vector<unsigned> order(arguments.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return arguments[a].bytes > arguments[b].bytes;
  });
  std::vector<SharedDimension> found;
  Members seen;
  for (unsigned number : order)
    for (auto [dim, size] : llvm::enumerate(arguments[number].shape)) {
      if (size < 2 || seen.count({number, unsigned(dim)}))
        continue;
      SharedDimension &each = found.emplace_back();
      each.members = findReached(graph, arguments[number], number, dim);
      addAlike(each.members, arguments);
      seen.insert(each.members.begin(), each.members.end());
      for (auto [member, of] : each.members) {
        each.size = std::gcd(each.size, arguments[member].shape[of]);
        each.bytes += arguments[member].bytes;
        each.isBatch |= !arguments[member].isState;
      }
    }
  llvm::sort(found, [](const SharedDimension &a, const SharedDimension &b) {
    return std::pair(-a.bytes, a.members) < std::pair(-b.bytes, b.members);
  });
  return found;
}

} // namespace weft
