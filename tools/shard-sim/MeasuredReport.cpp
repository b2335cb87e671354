//===- MeasuredReport.cpp - A run beside its prediction -------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepPrint.h"

#include "weft/Cost/Bytes.h"

#include <fmt/format.h>

#include <algorithm>

using namespace weft::simulate;
using nlohmann::ordered_json;

namespace weft::tools {

/// Where the time of a rank goes as a trace shows it, the mean of the roles:
/// messages of a pipeline are among `rest`.
static MeasuredUsage usageOf(const Prediction &prediction) {
  MeasuredUsage usage;
  const Usage total = prediction.total();
  const auto mean = [&](Picoseconds time) {
    return toSeconds(time) / static_cast<double>(prediction.roles.size());
  };
  usage.step = usage.rest = toSeconds(prediction.step);
  for (size_t i = 0; i < kernelClasses; ++i)
    usage.rest -= usage.kernels[i] = mean(total.kernels[i]);
  for (size_t i = 0; i < prediction.axes.size(); ++i)
    if (i != prediction.pipelineAxes)
      usage.collectives += mean(total.communication[i].exposed);
  usage.rest -= usage.collectives;
  return usage;
}

std::string printMeasured(const Prediction &prediction,
                          const MeasuredTrace &trace) {
  const MeasuredUsage predicted = usageOf(prediction), &measured = trace.usage;
  const size_t runs = trace.runs;
  std::string text = fmt::format(
      "{:<24} {:>11} {:>11} {:>7}\n",
      fmt::format("of {} run{} measured", runs, runs == 1 ? "" : "s"),
      "predicted", "measured", "ratio");
  const auto add = [&](const char *name, double expected, double found) {
    const bool hasRatio = found > 0;
    if (expected <= 0 && !hasRatio)
      return;
    text +=
        fmt::format("  {:<22} {:>11} {:>11} {:>7}\n", name,
                    printSeconds(expected), printSeconds(found),
                    hasRatio ? fmt::format("{:.2f}", expected / found) : "-");
  };
  for (size_t i = 0; i < kernelClasses; ++i)
    add(kernelClassNames[i], predicted.kernels[i], measured.kernels[i]);
  add("exposed collectives", predicted.collectives, measured.collectives);
  add(prediction.pipelineAxes ? "bubble, messages" : "between kernels",
      std::max(0.0, predicted.rest), std::max(0.0, measured.rest));
  add("step", predicted.step, measured.step);
  return text;
}

static ordered_json toJson(const MeasuredUsage &usage) {
  ordered_json json;
  for (size_t i = 0; i < kernelClasses; ++i)
    json[kernelClassKeys[i]] = usage.kernels[i];
  json["exposed_collective_seconds"] = usage.collectives;
  json["rest_seconds"] = usage.rest;
  json["step_seconds"] = usage.step;
  return json;
}

ordered_json measuredJson(const Prediction &prediction,
                          const MeasuredTrace &trace) {
  return {{"runs", trace.runs},
          {"predicted", toJson(usageOf(prediction))},
          {"measured", toJson(trace.usage)}};
}

} // namespace weft::tools
