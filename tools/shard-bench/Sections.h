//===- Sections.h - The tables of shard-bench -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each section measures, prints its table line by line, and adds its rows to
// the results. The time is shared out among all measurements of all sections.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_BENCH_SECTIONS_H
#define WEFT_TOOLS_SHARD_BENCH_SECTIONS_H

#include "Results.h"

#include "weft/runtime/Launch.h"

namespace weft::tools {

struct SectionOptions {
  /// Of the most ranks of a collective, and of arrays. Several processes have
  /// all of them together.
  int ranks = 2;
  runtime::Launch launch;
  int64_t largestBytes = int64_t(64) << 20;
  /// For one measurement.
  double seconds = 0;
  /// Of plans; GPUs have collectives only.
  std::string target = "cpu";
};

struct Section {
  /// For --only.
  std::string_view name;
  /// Measurements that it makes, counted without making them.
  int (*count)(const SectionOptions &options);
  runtime::Status (*run)(const SectionOptions &options, Results &results);
};

/// In the order in which they run.
const std::vector<Section> &sections();

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_BENCH_SECTIONS_H
