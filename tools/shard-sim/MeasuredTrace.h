//===- MeasuredTrace.h - What a run of a plan took --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a trace of shard-run, and finds the runs of an entry in it. Of these
// the one with the median time stands for all, but never the first one of
// several, in which memory is touched for the first time.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_SIM_MEASUREDTRACE_H
#define WEFT_TOOLS_SHARD_SIM_MEASUREDTRACE_H

#include "weft/Simulate/Usage.h"
#include "weft/runtime/Plan.h"
#include "weft/runtime/plan_generated.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace weft::tools {

/// Where the time of a rank went, in seconds; the mean of all ranks.
struct MeasuredUsage {
  std::array<double, simulate::kernelClasses> kernels = {};
  /// It waits for collectives, or carries them itself.
  double collectives = 0;
  /// Between kernels, and for messages of a pipeline.
  double rest = 0;
  double step = 0;
};

struct MeasuredTrace {
  /// Why there is none; then there is nothing else.
  std::string problem;
  /// Whether the file says of which plan it is.
  bool hasHash = false;
  /// How many runs of the entry the file has.
  size_t runs = 0;
  MeasuredUsage usage;
  /// Of the run, in microseconds from its begin; `pid` is the rank.
  std::vector<nlohmann::ordered_json> events;
};

/// `fileName` is for messages.
MeasuredTrace readMeasuredTrace(const std::string &text,
                                const std::string &fileName,
                                const runtime::Plan &plan,
                                const plan::Entry &entry);

/// What an instruction is called in traces.
std::string nameInTrace(const plan::Plan &plan,
                        const plan::Instruction &instruction);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_SIM_MEASUREDTRACE_H
