//===- StepReport.h - What there is to say of a predicted step --*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step with its memory and its scaling, which `shard-sim plan` prints and the
// Python package shows.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SIMULATE_STEPREPORT_H
#define WEFT_SIMULATE_STEPREPORT_H

#include "weft/Simulate/Prediction.h"

#include <nlohmann/json_fwd.hpp>

namespace weft::simulate {

struct Machine {
  cost::CostModel cost;
  /// Why this one: it is named, or a default.
  std::string reason;
};

/// Makes predictions for the plan on a cluster: a name or a file, or if it is
/// empty the default for the target of the plan. `named` says where a name
/// comes from, `remedy` how to name one.
std::optional<Machine> chooseMachine(const plan::Plan &plan,
                                     const std::string &cluster,
                                     const char *named, const char *remedy,
                                     std::vector<std::string> &problems);

/// A plan of the same step.
struct OtherPlan {
  /// For messages and tables.
  std::string name;
  const plan::Plan &plan;
};

struct StepRequest {
  const plan::Plan &plan;
  const plan::Entry &entry;
  /// Of the entry.
  const EntryReport &facts;
  const Machine &machine;
  /// Of a step; 0: not known.
  double samples = 0, tokens = 0;
  /// Weak scaling.
  std::string scaledAxis = {};
  std::vector<int64_t> scaledSizes = {};
  bool records = false;
  /// Of those that lie differently.
  int64_t ranksPerRole = 1;
  /// Strong scaling.
  std::vector<OtherPlan> others = {};
  /// Of all predictions.
  Turns turns = {};
};

/// A step with another size of one mesh axis.
struct ScaleRow {
  int64_t size = 1, devices = 1;
  Picoseconds step = 0;
  /// Of a rank; the mean of the roles.
  Communication communication;
  /// Time of a step in the size that the plan has, over that of this one.
  double efficiency = 1;
};

/// A plan beside others of the same step.
struct PlanRow {
  std::string name;
  std::vector<cost::MeshAxis> mesh;
  int64_t devices = 1;
  Picoseconds step = 0;
  double modelUtilization = 0;
  /// Of a rank; the mean of the roles.
  Communication communication;
  Picoseconds bubble = 0;
  /// Of the role that allocates the most; whether that fits.
  MemoryReport memory;
  bool fits = true;
  /// Device seconds of the step of the plan that rows are relative to, over
  /// those of this one.
  double efficiency = 1;
};

struct StepReport {
  const Machine &machine;
  /// With problems there is nothing else.
  Prediction prediction;
  /// Of the role that allocates the most.
  MemoryReport memory;
  size_t memoryRole = 0;
  double samples = 0, tokens = 0;
  std::string scaledAxis;
  std::vector<ScaleRow> scale;
  /// Beside other plans: of the plan itself, and of each of them.
  std::vector<PlanRow> strong;
  /// If more than one rank of each role is asked for.
  std::vector<RankRow> ranks;
};

StepReport makeStepReport(const StepRequest &request);

nlohmann::ordered_json toJson(const StepReport &report);

/// What a recorded step does when, for pictures: times in nanoseconds. Runs of
/// a segment are alike, so its events are there once.
nlohmann::ordered_json recordedToJson(const StepRequest &request,
                                      const Prediction &prediction);

} // namespace weft::simulate

#endif // WEFT_SIMULATE_STEPREPORT_H
