//===- PlanRows.h - Plans of one step beside each other ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each mesh, and each choice of options, has a program and a plan of its own.
// Those are compared by what they compute: an entry of the same name with the
// same arguments and results.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_LIB_SIMULATE_PLANROWS_H
#define WEFT_LIB_SIMULATE_PLANROWS_H

#include "weft/Simulate/StepReport.h"

namespace weft::simulate {

/// The entry of another plan that computes what `entry` does, or why there is
/// none.
struct SameStep {
  const plan::Entry *entry = nullptr;
  std::string problem;
};
SameStep findSameStep(const plan::Entry &entry, const plan::Plan &other);

struct PredictedEntry {
  const plan::Entry *entry = nullptr;
  /// Its problems say why there is no entry.
  Prediction prediction;
  EntryReport facts;
  /// See PlanReport::choices.
  std::string choices;
};
PredictedEntry predictSameStep(const plan::Entry &entry, const OtherPlan &other,
                               const cost::CostModel &cost);

PlanRow makePlanRow(const std::string &name, const Prediction &prediction,
                    const EntryReport &facts, const cost::CostModel &cost);

/// What the devices of the first spend on a step, over what those of the second
/// do.
double efficiencyBeside(const PlanRow &first, const PlanRow &second);

/// Adds the rows of the plan and of `request.others`, or what is wrong with
/// these to the problems of the prediction.
void addStrongScaling(const StepRequest &request, StepReport &report);

} // namespace weft::simulate

#endif // WEFT_LIB_SIMULATE_PLANROWS_H
