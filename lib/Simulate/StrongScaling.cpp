//===- StrongScaling.cpp - One step on several numbers of devices ---------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StrongScaling.h"

#include "weft/runtime/DType.h"

#include <algorithm>
#include <map>

namespace weft::simulate {

namespace {
/// An entry, or why there is none.
struct PlanEntry {
  const plan::Entry *entry = nullptr;
  std::string problem;
};
} // namespace

/// "f32[8x16]", of the whole array.
static std::string typeOf(const plan::Binding &binding) {
  const plan::TensorType &type = *binding.type();
  std::string shape;
  for (int64_t size : *type.global_shape())
    shape += (shape.empty() ? "" : "x") + std::to_string(size);
  return std::string(runtime::name(static_cast<runtime::DType>(type.dtype()))) +
         "[" + shape + "]";
}

/// The entry of another plan that computes the same step: of the same name,
/// with the same arguments.
static PlanEntry findSameStep(const StepRequest &request,
                              const OtherPlan &other) {
  const plan::Entry &entry = request.entry;
  const std::string name = entry.name()->str();
  const auto found =
      std::ranges::find_if(*other.plan.entries(), [&](const plan::Entry *each) {
        return !each->role() && each->name()->str() == name;
      });
  if (found == other.plan.entries()->end())
    return {nullptr, "the plan has no entry \"" + name + "\""};
  std::map<std::string, std::string> types;
  for (const plan::Binding *input : *entry.inputs())
    types[input->name()->str()] = typeOf(*input);
  const std::string remedy = "; strong scaling compares plans of the same step";
  if (found->inputs()->size() != types.size())
    return {nullptr, name + " has " + std::to_string(found->inputs()->size()) +
                         " arguments, but " + std::to_string(types.size()) +
                         " in the first plan" + remedy};
  for (const plan::Binding *input : *found->inputs()) {
    const std::string argument = input->name()->str();
    const auto same = types.find(argument);
    if (same == types.end())
      return {nullptr, name + " has an argument \"" + argument +
                           "\", which the first plan lacks" + remedy};
    if (same->second != typeOf(*input))
      return {nullptr, name + ": \"" + argument + "\" is " + typeOf(*input) +
                           ", but " + same->second + " in the first plan" +
                           remedy};
  }
  return {*found, ""};
}

/// Of the plan itself, and of others of the same step.
void addStrongScaling(const StepRequest &request, StepReport &report) {
  if (request.others.empty())
    return;
  const cost::CostModel &cost = request.machine.cost;
  const Prediction &first = report.prediction;
  const auto add = [&](const Prediction &prediction, const EntryReport &facts) {
    const uint64_t bytes = facts.memory[facts.largestRole()].arenaBytes;
    const double work =
        static_cast<double>(first.devices()) * static_cast<double>(first.step);
    const double spent = static_cast<double>(prediction.devices()) *
                         static_cast<double>(prediction.step);
    report.strong.push_back({prediction.mesh, prediction.devices(),
                             prediction.step, prediction.communication(), bytes,
                             static_cast<double>(bytes) <= cost.usableBytes(),
                             spent > 0 ? work / spent : 1});
  };
  add(first, request.facts);
  for (const OtherPlan &other : request.others) {
    const PlanEntry found = findSameStep(request, other);
    Prediction scaled;
    if (found.entry)
      scaled = predict(other.plan, *found.entry, cost, {});
    else
      scaled.problems = {found.problem};
    if (!scaled.problems.empty()) {
      for (const std::string &problem : scaled.problems)
        report.prediction.problems.push_back(other.name + ": " + problem);
      return;
    }
    const PlanReport facts = makePlanReport(other.plan);
    add(scaled,
        *std::ranges::find(facts.entries, scaled.entry, &EntryReport::name));
  }
}

} // namespace weft::simulate
