//===- StepReport.h - The output of shard-sim plan --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `shard-sim plan` prints of an entry.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_SIM_STEPREPORT_H
#define WEFT_TOOLS_SHARD_SIM_STEPREPORT_H

#include "weft/Simulate/Prediction.h"

#include <nlohmann/json_fwd.hpp>

namespace weft::tools {

/// A step with another size of one mesh axis.
struct ScaleRow {
  int64_t size = 1, devices = 1;
  simulate::Picoseconds step = 0;
  /// Of a rank; the mean of the roles.
  simulate::Picoseconds communication = 0, exposed = 0;
  /// Time of a step in the size that the plan has, over that of this one.
  double efficiency = 1;
};

struct StepReport {
  const cost::CostModel &cost;
  /// Why this cluster: "named", or a default.
  std::string clusterReason;
  simulate::Prediction prediction;
  /// Of the role that allocates the most.
  MemoryReport memory;
  size_t memoryRole = 0;
  /// Of a step; 0: not known.
  double samples = 0, tokens = 0;
  std::string scaledAxis;
  std::vector<ScaleRow> scale;
};

ScaleRow makeScaleRow(const simulate::Prediction &prediction,
                      const std::string &axis, simulate::Picoseconds planned);

std::string printText(const StepReport &report);
nlohmann::ordered_json toJson(const StepReport &report);
/// Of a recorded prediction, for Perfetto.
std::string printTrace(const plan::Plan &plan,
                       const simulate::Prediction &prediction);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_SIM_STEPREPORT_H
