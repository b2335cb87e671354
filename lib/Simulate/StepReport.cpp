//===- StepReport.cpp - What there is to say of a predicted step ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Simulate/StepReport.h"

#include "PlanRows.h"

#include "weft/Cost/ClusterFile.h"

#include <algorithm>

namespace weft::simulate {

std::optional<Machine> chooseMachine(const plan::Plan &plan,
                                     const std::string &cluster,
                                     const char *named, const char *remedy,
                                     std::vector<std::string> &problems) {
  const std::string target = plan.target()->kind()->str();
  cost::ParsedCluster parsed =
      cost::loadCluster(!cluster.empty()  ? cluster
                        : target == "cpu" ? "cpu-2core"
                                          : std::string(cost::defaultCluster));
  problems = parsed.problems;
  if (!parsed.cluster)
    return std::nullopt;
  return Machine{cost::CostModel(std::move(*parsed.cluster)),
                 !cluster.empty()
                     ? named
                     : "the default of plans for " + target + "; " + remedy};
}

static ScaleRow makeScaleRow(const Prediction &prediction,
                             const std::string &axis, Picoseconds planned) {
  ScaleRow row;
  row.size =
      std::ranges::find(prediction.mesh, axis, &cost::MeshAxis::name)->size;
  row.devices = prediction.devices();
  row.step = prediction.step;
  row.communication = prediction.communication();
  if (row.step > 0)
    row.efficiency =
        static_cast<double>(planned) / static_cast<double>(row.step);
  return row;
}

StepReport makeStepReport(const StepRequest &request) {
  const auto predicted = [&](const PredictionOptions &options) {
    return predict(request.plan, request.entry, request.machine.cost, options);
  };
  const size_t role = request.facts.largestRole();
  StepReport report{request.machine,
                    predicted({.records = request.records,
                               .looksAtDevices = request.ranksPerRole > 1,
                               .turns = request.turns}),
                    request.facts.memory[role],
                    role,
                    request.samples,
                    request.tokens,
                    request.scaledAxis,
                    {},
                    {},
                    {}};
  for (int64_t size : request.scaledSizes) {
    if (!report.prediction.problems.empty())
      break;
    Prediction scaled = predicted(
        {.axisSizes = {{request.scaledAxis, size}}, .turns = request.turns});
    if (scaled.problems.empty())
      report.scale.push_back(
          makeScaleRow(scaled, request.scaledAxis, report.prediction.step));
    report.prediction.problems = std::move(scaled.problems);
  }
  if (report.prediction.problems.empty())
    addStrongScaling(request, report);
  if (request.ranksPerRole > 1 && report.prediction.problems.empty())
    report.ranks = predictRanks(request.plan, request.entry,
                                request.machine.cost, request.ranksPerRole);
  return report;
}

} // namespace weft::simulate
