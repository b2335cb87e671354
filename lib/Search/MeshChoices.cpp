//===- MeshChoices.cpp - How devices can share a step ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Search/MeshChoices.h"

#include "weft/IR/ValueSharding.h"
#include "weft/Schedule/ProgramStates.h"

#include <map>

using namespace mlir;

namespace weft {

static constexpr const char *kPipe = "pipe", *kData = "data",
                            *kTensor = "model";
/// The most ranks of a pipeline, and micro-batches for each of them.
static constexpr int64_t mostStages = 8;
static constexpr int64_t fills[] = {2, 4};

sharding::Mesh MeshChoice::mesh() const {
  // Ranks next to each other share tensors, since they send most.
  std::vector<sharding::MeshAxis> axes;
  for (auto [name, size] :
       {std::pair(kPipe, pipeline), {kData, data}, {kTensor, tensor}})
    if (size > 1)
      axes.push_back({name, size});
  if (axes.empty())
    axes.push_back({kData, 1});
  return sharding::Mesh(std::move(axes));
}

StageOptions MeshChoice::stages() const {
  StageOptions options;
  if (pipeline == 1)
    return options;
  options.axis = kPipe;
  options.areAutomatic = true;
  options.chunks = 1;
  options.microbatches = microbatches;
  return options;
}

std::string MeshChoice::print() const {
  const sharding::Mesh axes = mesh();
  std::string text;
  for (const sharding::MeshAxis &axis : axes.axes())
    text += (text.empty() ? "" : " x ") + axis.name + "=" +
            std::to_string(axis.size);
  if (states != SplitStates::None)
    text += states == SplitStates::All ? ", states in parts"
                                       : ", optimizer in parts";
  if (microbatches > 1)
    text += ", " + std::to_string(microbatches) + " micro-batches";
  return text;
}

//===----------------------------------------------------------------------===//
// What can be split
//===----------------------------------------------------------------------===//

FailureOr<MeshChoices> MeshChoices::find(ModuleOp module, ModuleOp graph) {
  MeshChoices found;
  func::FuncOp step = findStep(module);
  found.arguments = readArguments(step);
  bool hasBatch = false;
  std::vector<SharedDimension> all =
      findSharedDimensions(graph, found.arguments);
  // The first dimension of what is no state.
  for (auto [number, argument] : llvm::enumerate(found.arguments))
    for (const SharedDimension &each : all)
      if (!hasBatch && !argument.isState && each.of(number) == 0u) {
        found.batch = each;
        hasBatch = true;
      }
  if (!hasBatch)
    return step.emitError() << "@" << step.getSymName()
                            << " has no batch: an argument that no result "
                               "replaces, with more than one row";
  for (SharedDimension &each : all)
    if (!each.isBatch)
      found.weights.push_back(std::move(each));
  found.findSplits();
  return found;
}

void MeshChoices::findSplits() {
  // What has the same size at the same places of arguments is split together.
  using Kind = std::pair<int64_t, std::multiset<unsigned>>;
  std::map<Kind, size_t> numbers;
  std::vector<std::vector<size_t>> groups;
  auto conflict = [&](ArrayRef<size_t> a, ArrayRef<size_t> b) {
    return llvm::any_of(a, [&](size_t one) {
      return llvm::any_of(b, [&](size_t other) {
        return one != other && weights[one].conflictsWith(weights[other]);
      });
    });
  };
  for (auto [number, each] : llvm::enumerate(weights)) {
    Kind kind{each.size, {}};
    for (auto [argument, dim] : each.members)
      kind.second.insert(dim);
    auto [entry, isNew] = numbers.try_emplace(kind, groups.size());
    if (isNew)
      groups.emplace_back();
    groups[entry->second].push_back(number);
  }
  llvm::erase_if(groups, [&](const std::vector<size_t> &group) {
    return conflict(group, group);
  });
  std::set<std::vector<size_t>> known;
  for (const std::vector<size_t> &first : groups) {
    std::vector<size_t> chosen = first;
    for (const std::vector<size_t> &group : groups)
      if (&group != &first && !conflict(group, chosen))
        chosen.insert(chosen.end(), group.begin(), group.end());
    llvm::sort(chosen);
    if (known.insert(chosen).second)
      splits.push_back(std::move(chosen));
  }
  auto bytesOf = [&](const std::vector<size_t> &split) {
    int64_t bytes = 0;
    for (size_t number : split)
      bytes += weights[number].bytes;
    return bytes;
  };
  llvm::sort(splits, [&](const auto &a, const auto &b) {
    return std::pair(-bytesOf(a), a) < std::pair(-bytesOf(b), b);
  });
}

/// Of what was differentiated elsewhere, nobody knows which states are
/// parameters.
std::vector<SplitStates> MeshChoices::statesToSplit() const {
  bool hasParameters = false, hasOthers = false;
  for (const StepArgument &each : arguments)
    if (each.isState && !each.shape.empty())
      (each.isParameter ? hasParameters : hasOthers) = true;
  if (hasParameters && hasOthers)
    return {SplitStates::None, SplitStates::Optimizer, SplitStates::All};
  return {SplitStates::None, SplitStates::All};
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

static std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t each = 1; each <= number; ++each)
    if (number % each == 0)
      divisors.push_back(each);
  return divisors;
}

std::vector<MeshChoice> MeshChoices::of(int64_t devices) const {
  std::vector<MeshChoice> choices;
  // Micro-batches, and what rests in parts, of a mesh.
  auto addVariants = [&](MeshChoice choice) {
    std::vector<int64_t> numbers = {1};
    if (choice.pipeline > 1)
      numbers = {choice.pipeline * fills[0], choice.pipeline * fills[1]};
    for (SplitStates states :
         choice.data > 1 ? statesToSplit() : std::vector{SplitStates::None})
      for (int64_t number : numbers)
        if (batch.size / choice.data % number == 0) {
          choice.states = states;
          choice.microbatches = number;
          choices.push_back(choice);
        }
  };
  for (int64_t tensor : divisorsOf(devices)) {
    if (tensor & (tensor - 1))
      continue;
    for (size_t split = 0; split < (tensor > 1 ? splits.size() : 1); ++split)
      for (int64_t pipeline : divisorsOf(devices / tensor)) {
        const int64_t data = devices / tensor / pipeline;
        if (pipeline <= mostStages && batch.size % data == 0)
          addVariants({pipeline, data, tensor, split});
      }
  }
  return choices;
}

/// The one to be split where a state rests: that which most others have as
/// well, of those that are whole and divisible.
std::optional<unsigned>
MeshChoices::freeDimension(unsigned argument, const sharding::Sharding &taken,
                           int64_t ways) const {
  for (const SharedDimension &each : weights)
    if (std::optional<unsigned> dim = each.of(argument);
        dim && taken.dims[*dim].axes.empty() &&
        arguments[argument].shape[*dim] % ways == 0)
      return dim;
  return std::nullopt;
}

sharding::Sharding MeshChoices::shardingOf(unsigned argument,
                                           const MeshChoice &choice) const {
  const StepArgument &self = arguments[argument];
  const sharding::Mesh mesh = choice.mesh();
  auto result = sharding::Sharding::closed(self.shape.size());
  auto split = [&](std::optional<unsigned> dim, const char *axis) {
    if (dim)
      result.dims[*dim].axes.push_back(mesh.fullAxis(*mesh.find(axis)));
  };
  if (choice.data > 1)
    split(batch.of(argument), kData);
  if (choice.tensor > 1)
    for (size_t number : splits[choice.split])
      if (std::optional<unsigned> dim = weights[number].of(argument);
          dim && self.shape[*dim] >= choice.tensor)
        split(dim, kTensor);
  bool rests = self.isState && choice.states != SplitStates::None &&
               (choice.states == SplitStates::All || !self.isParameter);
  if (choice.data > 1 && rests)
    split(freeDimension(argument, result, choice.data), kData);
  return result;
}

double MeshChoices::stateBytes(const MeshChoice &choice) const {
  double bytes = 0;
  for (auto [number, each] : llvm::enumerate(arguments)) {
    if (!each.isState)
      continue;
    double shards = static_cast<double>(choice.pipeline);
    for (const sharding::DimSharding &dim : shardingOf(number, choice).dims)
      shards *= static_cast<double>(sharding::numShards(dim.axes));
    bytes += static_cast<double>(each.bytes) / shards;
  }
  return bytes;
}

void MeshChoices::annotate(ModuleOp module, const MeshChoice &choice) const {
  MLIRContext *context = module.getContext();
  const sharding::Mesh mesh = choice.mesh();
  std::string name = "mesh";
  while (module.lookupSymbol(name))
    name += "_";
  OpBuilder builder(module.getBodyRegion());
  MeshOp::create(builder, module.getLoc(), name, MeshAttr::get(context, mesh));
  auto symbol = FlatSymbolRefAttr::get(context, name);
  std::map<std::string, ShardingAttr> shardings;
  for (auto [number, argument] : llvm::enumerate(arguments))
    shardings[argument.name] =
        ShardingAttr::get(context, symbol, mesh, shardingOf(number, choice));
  for (func::FuncOp entry : findEntries(module)) {
    for (BlockArgument value : entry.getArguments())
      if (auto found =
              shardings.find(getArgumentName(entry, value.getArgNumber()));
          found != shardings.end())
        setSharding(value, found->second);
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      if (auto found = shardings.find(getResultName(entry, i));
          found != shardings.end())
        setResultSharding(entry, i, found->second);
  }
}

} // namespace weft
