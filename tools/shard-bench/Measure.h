//===- Measure.h - Times a call on a machine that others use ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call is repeated in batches that are long enough for the clocks. What else
// the machine does makes batches longer, never shorter: the best one says what
// the machine can do, the middle one what it usually does, and the CPU time of
// the thread what a batch would take if nobody took the core away:
//
//   Timing gemm = measure(0.5, [&] { return bound->run(); });
//   gemm.best      3.1 ms   CPU time of a call in the best batch
//   gemm.median    3.2 ms   the same, of the middle one
//   gemm.wall      5.8 ms   by the clock: somebody else had the core
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TOOLS_SHARD_BENCH_MEASURE_H
#define WEFT_TOOLS_SHARD_BENCH_MEASURE_H

#include "weft/runtime/Status.h"

#include <functional>
#include <vector>

namespace weft::tools {

/// Seconds of a call.
struct Timing {
  double best = 0, median = 0, wall = 0;
  int64_t calls = 0;
  /// The core was somebody else's for more than a tenth of the time.
  bool isBusy() const { return wall > 1.1 * median; }
};

/// A batch: how long it took by the clock, and CPU time.
struct Batch {
  int64_t calls = 0;
  double wall = 0, cpu = 0;
};

/// The middle one of some numbers, of two the mean.
double medianOf(std::vector<double> numbers);
Timing summarize(const std::vector<Batch> &batches);

/// Seconds of the clock, and of CPU time of this thread and of all threads.
double wallSeconds();
double threadSeconds();
double processSeconds();

/// Calls of a batch, where one took so long.
int64_t callsOfBatch(double secondsOfCall);

/// Calls until so many seconds are over, at least three batches. Of calls that
/// several threads compute, CPU time is that of all of them over their number.
runtime::Result<Timing> measure(double seconds,
                                const std::function<runtime::Status()> &call,
                                int threads = 1);

} // namespace weft::tools

#endif // WEFT_TOOLS_SHARD_BENCH_MEASURE_H
