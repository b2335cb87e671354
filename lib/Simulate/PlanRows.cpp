//===- PlanRows.cpp - Plans of one step beside each other -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanRows.h"

#include "weft/runtime/DType.h"

#include <algorithm>
#include <map>

namespace weft::simulate {

using Bindings = flatbuffers::Vector<flatbuffers::Offset<plan::Binding>>;

/// "f32[8x16]", of the whole array.
static std::string typeOf(const plan::Binding &binding) {
  const plan::TensorType &type = *binding.type();
  std::string shape;
  for (int64_t size : *type.global_shape())
    shape += (shape.empty() ? "" : "x") + std::to_string(size);
  return std::string(runtime::name(static_cast<runtime::DType>(type.dtype()))) +
         "[" + shape + "]";
}

/// How the arguments or the results of another entry differ; empty if they do
/// not.
static std::string findDifference(const std::string &kind,
                                  const Bindings &first,
                                  const Bindings &other) {
  if (other.size() != first.size())
    return " has " + std::to_string(other.size()) + " " + kind + "s, but " +
           std::to_string(first.size()) + " in the first plan";
  std::map<std::string, std::string> types;
  for (const plan::Binding *each : first)
    types[each->name()->str()] = typeOf(*each);
  for (const plan::Binding *each : other) {
    const std::string name = each->name()->str();
    const auto same = types.find(name);
    if (same == types.end())
      return " has " + std::string(kind == "argument" ? "an " : "a ") + kind +
             " \"" + name + "\", which the first plan lacks";
    if (same->second != typeOf(*each))
      return ": \"" + name + "\" is " + typeOf(*each) + ", but " +
             same->second + " in the first plan";
  }
  return "";
}

SameStep findSameStep(const plan::Entry &entry, const plan::Plan &other) {
  const std::string name = entry.name()->str();
  const auto found =
      std::ranges::find_if(*other.entries(), [&](const plan::Entry *each) {
        return !each->role() && each->name()->str() == name;
      });
  if (found == other.entries()->end())
    return {nullptr, "the plan has no entry \"" + name + "\""};
  std::string difference =
      findDifference("argument", *entry.inputs(), *found->inputs());
  if (difference.empty())
    difference = findDifference("result", *entry.outputs(), *found->outputs());
  if (!difference.empty())
    return {nullptr,
            name + difference + "; only plans of the same step are compared"};
  return {*found, ""};
}

PredictedEntry predictSameStep(const plan::Entry &entry, const OtherPlan &other,
                               const cost::CostModel &cost) {
  const SameStep same = findSameStep(entry, other.plan);
  PredictedEntry predicted;
  if (!same.entry) {
    predicted.prediction.problems = {same.problem};
    return predicted;
  }
  PlanReport report = makePlanReport(other.plan);
  predicted.entry = same.entry;
  predicted.prediction = predict(other.plan, *same.entry, cost, {});
  predicted.facts = std::move(*std::ranges::find(
      report.entries, same.entry->name()->str(), &EntryReport::name));
  predicted.choices = std::move(report.choices);
  return predicted;
}

PlanRow makePlanRow(const std::string &name, const Prediction &prediction,
                    const EntryReport &facts, const cost::CostModel &cost) {
  const MemoryReport &memory = facts.memory[facts.largestRole()];
  return {name,
          prediction.mesh,
          prediction.devices(),
          prediction.step,
          prediction.modelUtilization(),
          prediction.communication(),
          prediction.bubble(),
          memory,
          static_cast<double>(memory.arenaBytes) <= cost.usableBytes()};
}

double efficiencyBeside(const PlanRow &first, const PlanRow &second) {
  const auto spent = [](const PlanRow &row) {
    return static_cast<double>(row.devices) * static_cast<double>(row.step);
  };
  return spent(second) > 0 ? spent(first) / spent(second) : 1;
}

void addStrongScaling(const StepRequest &request, StepReport &report) {
  if (request.others.empty())
    return;
  const cost::CostModel &cost = request.machine.cost;
  report.strong = {makePlanRow("", report.prediction, request.facts, cost)};
  for (const OtherPlan &other : request.others) {
    const PredictedEntry same = predictSameStep(request.entry, other, cost);
    for (const std::string &problem : same.prediction.problems)
      report.prediction.problems.push_back(other.name + ": " + problem);
    if (!same.prediction.problems.empty())
      continue;
    PlanRow row = makePlanRow(other.name, same.prediction, same.facts, cost);
    row.efficiency = efficiencyBeside(report.strong.front(), row);
    report.strong.push_back(std::move(row));
  }
}

} // namespace weft::simulate
