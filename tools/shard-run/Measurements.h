//===- Measurements.h - What --measure adds to a step -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_RUN_MEASUREMENTS_H
#define WEFT_TOOLS_SHARD_RUN_MEASUREMENTS_H

#include "Arguments.h"
#include "weft/runtime/Session.h"

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace weft::tools {

/// Columns of --metrics that say how a step ran. Times are in seconds.
class Measurements {
public:
  Measurements(const Arguments &arguments, const runtime::Plan &plan,
               const runtime::EntrySpec &entry);

  /// None without --measure.
  std::vector<std::string> columns() const;
  /// Of the last run, which took `step`; all processes call it alike.
  runtime::Result<std::vector<std::string>>
  read(const runtime::Session &session,
       std::chrono::duration<double> step) const;

private:
  const Arguments &arguments;
  const int64_t ranks;
  /// Of a step, on all ranks.
  const double flops;
};

/// The rank that computed for the longest time, if the middle one of the other
/// ranks of its stage was done by a fifth of the step earlier; otherwise -1.
int64_t findStraggler(std::span<const runtime::RankUsage> usage);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_RUN_MEASUREMENTS_H
