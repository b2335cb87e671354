//===- Sweep.cpp - Which of several plans of a step is the best -----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Simulate/Sweep.h"

#include "PlanRows.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

namespace weft::simulate {

/// "8", or "8, 3": how often the outermost loops run. Of a program without a
/// pipeline those are micro-batches, steps around a ring of ranks, and loops of
/// the model: a plan does not say which.
static std::string printLoops(const plan::Entry &entry) {
  std::string text;
  const auto &instructions = *entry.instructions();
  for (uint32_t at = 0; at < instructions.size(); ++at)
    if (const plan::Repeat *loop = instructions[at]->operation_as_Repeat()) {
      text += (text.empty() ? "" : ", ") + std::to_string(loop->count());
      at += loop->instructions();
    }
  return text.empty() ? "-" : text;
}

/// "3 of 4", of the arguments.
static std::string printSplitArguments(const plan::Entry &entry) {
  const auto isSplit = [](const plan::Binding *input) {
    return !std::ranges::equal(*input->type()->local_shape(),
                               *input->type()->global_shape());
  };
  return std::to_string(std::ranges::count_if(*entry.inputs(), isSplit)) +
         " of " + std::to_string(entry.inputs()->size());
}

/// As in the report of the plan.
static std::string printRecomputed(const EntryReport &facts) {
  if (!facts.recomputedFlops)
    return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%",
                100 * double(facts.recomputedFlops) / double(facts.flops));
  return text;
}

/// How many calls a step has, of a pipeline in all roles.
static std::string printCollectives(const EntryReport &facts) {
  int64_t count = 0;
  for (const CollectiveRecord &record : facts.collectives)
    count += record.count;
  return std::to_string(count);
}

static SweepRow makeRow(const OtherPlan &plan, const PredictedEntry &same,
                        const cost::CostModel &cost) {
  const plan::Entry &entry = *same.entry;
  const plan::Target &target = *plan.plan.target();
  SweepRow row{makePlanRow(plan.name, same.prediction, same.facts, cost),
               {},
               same.choices};
  const auto &pipeline = same.facts.pipeline;
  const auto ofSchedule = [&](auto print) {
    return pipeline && pipeline->schedule ? print(*pipeline->schedule) : "-";
  };
  row.settings = {
      {"stages", ofSchedule([](const timeline::TimedSchedule &schedule) {
         return std::to_string(schedule.extent.stages);
       })},
      {"schedule", ofSchedule([](const timeline::TimedSchedule &schedule) {
         return schedule.name;
       })},
      {"micro-batches", entry.timeline()
                            ? std::to_string(entry.timeline()->microbatches())
                            : "-"},
      {"loops", printLoops(entry)},
      {"recomputed", printRecomputed(same.facts)},
      {"split arguments", printSplitArguments(entry)},
      {"collectives", printCollectives(same.facts)},
      {"target", target.kind()->str() +
                     (target.processor()->size() ? " " : "") +
                     target.processor()->str()}};
  return row;
}

std::vector<std::string> findOtherSteps(const std::vector<OtherPlan> &plans,
                                        const plan::Entry &entry) {
  std::vector<std::string> problems;
  for (const OtherPlan &plan : plans)
    if (const SameStep same = findSameStep(entry, plan.plan); !same.entry)
      problems.push_back(plan.name + ": " + same.problem);
  return problems;
}

Sweep makeSweep(const SweepRequest &request) {
  const cost::CostModel &cost = request.machine.cost;
  Sweep sweep;
  for (const OtherPlan &plan : request.plans) {
    const PredictedEntry same = predictSameStep(request.entry, plan, cost);
    for (const std::string &problem : same.prediction.problems)
      sweep.problems.push_back(plan.name + ": " + problem);
    if (sweep.problems.empty())
      sweep.rows.push_back(makeRow(plan, same, cost));
  }
  if (!sweep.problems.empty()) {
    sweep.rows.clear();
    return sweep;
  }
  std::ranges::stable_sort(sweep.rows, {}, [](const SweepRow &row) {
    return std::tuple(!row.fits, row.step);
  });
  const SweepRow fewest =
      *std::ranges::min_element(sweep.rows, {}, &SweepRow::devices);
  for (SweepRow &row : sweep.rows)
    row.efficiency = efficiencyBeside(fewest, row);
  return sweep;
}

} // namespace weft::simulate
