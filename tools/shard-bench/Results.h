//===- Results.h - What was measured ----------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of the tables, from which a cluster is described (Fit.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_BENCH_RESULTS_H
#define WEFT_TOOLS_SHARD_BENCH_RESULTS_H

#include "Collectives.h"
#include "Products.h"

#include <map>

namespace weft::tools {

struct GemmRow {
  GemmShape shape;
  Timing timing;
};
struct AttentionRow {
  AttentionShape shape;
  Timing timing;
};
/// A kernel that adds two vectors, on so many ranks at once.
struct MemoryRow {
  int ranks = 1;
  /// That a rank reads and writes.
  double bytes = 0;
  /// CPU time of a rank in the best batch.
  double seconds = 0;
};
/// A kernel whose vectors stay in the cache of a core.
struct ElementRow {
  double flopsPerElement = 1;
  double secondsPerElement = 0;
};
struct CollectiveRow {
  CollectiveCase run;
  CollectiveTiming timing;
};

struct Results {
  std::vector<GemmRow> gemms;
  std::vector<AttentionRow> attention;
  std::vector<MemoryRow> memory;
  /// By the name of the function.
  std::map<std::string, ElementRow> functions;
  /// Multiplications and additions.
  ElementRow arithmetic;
  double launchSeconds = 0;
  std::vector<CollectiveRow> collectives;
  /// How many of the measurements met others on the cores.
  int measured = 0, busy = 0;

  void count(bool isBusy) {
    ++measured;
    busy += isBusy;
  }
};

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_BENCH_RESULTS_H
