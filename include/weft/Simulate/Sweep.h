//===- Sweep.h - Which of several plans of a step is the best ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans of one step that were compiled for other meshes, with other schedules
// or options, on one cluster: the best first.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SIMULATE_SWEEP_H
#define WEFT_SIMULATE_SWEEP_H

#include "weft/Simulate/StepReport.h"

#include <utility>

namespace weft::simulate {

/// A plan with what it tells of how it was compiled.
struct SweepRow : PlanRow {
  /// Of every row the same names in the same order: "micro-batches" and "8",
  /// "-" for what it does not have.
  std::vector<std::pair<std::string, std::string>> settings;
  /// See PlanReport::choices.
  std::string choices;
};

struct SweepRequest {
  /// At least one.
  const std::vector<OtherPlan> &plans;
  /// Of the first plan.
  const plan::Entry &entry;
  const Machine &machine;
  /// Of a step; 0: not known.
  double samples = 0, tokens = 0;
};

struct Sweep {
  /// With the names of plans; then there are no rows.
  std::vector<std::string> problems;
  /// First those that fit, the shortest step first. The efficiency is relative
  /// to the best on the fewest devices.
  std::vector<SweepRow> rows;
};

Sweep makeSweep(const SweepRequest &request);

/// Those of the problems for which no machine needs to be known: which plans
/// do not compute what the entry does, and how they differ.
std::vector<std::string> findOtherSteps(const std::vector<OtherPlan> &plans,
                                        const plan::Entry &entry);

nlohmann::ordered_json toJson(const SweepRequest &request, const Sweep &sweep);

} // namespace weft::simulate

#endif // WEFT_SIMULATE_SWEEP_H
