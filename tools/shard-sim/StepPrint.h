//===- StepPrint.h - The output of shard-sim plan ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `shard-sim plan` prints of an entry, and `shard-sim sweep` of several.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_SIM_STEPPRINT_H
#define WEFT_TOOLS_SHARD_SIM_STEPPRINT_H

#include "MeasuredTrace.h"

#include "weft/Simulate/Sweep.h"

namespace weft::tools {

/// "data=2 x model=8".
std::string printMesh(const std::vector<cost::MeshAxis> &axes);
std::string printText(const simulate::StepReport &report);
std::string printText(const simulate::SweepRequest &request,
                      const simulate::Sweep &sweep);
/// Where a run spent its time, beside what is predicted of it.
std::string printMeasured(const simulate::Prediction &prediction,
                          const MeasuredTrace &trace);
nlohmann::ordered_json measuredJson(const simulate::Prediction &prediction,
                                    const MeasuredTrace &trace);
/// Of a recorded prediction, for Perfetto, and of a run beside it.
std::string printTrace(const plan::Plan &plan,
                       const simulate::Prediction &prediction,
                       const MeasuredTrace *measured);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_SIM_STEPPRINT_H
