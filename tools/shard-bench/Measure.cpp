//===- Measure.cpp - Times a call on a machine that others use ------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Measure.h"

#include <algorithm>
#include <cmath>
#include <ctime>

using weft::runtime::Status;

namespace weft::tools {

static double secondsOf(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}
double wallSeconds() { return secondsOf(CLOCK_MONOTONIC); }
double processSeconds() { return secondsOf(CLOCK_PROCESS_CPUTIME_ID); }
double threadSeconds() { return secondsOf(CLOCK_THREAD_CPUTIME_ID); }

double medianOf(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  const size_t middle = numbers.size() / 2;
  return numbers.size() % 2 ? numbers[middle]
                            : (numbers[middle - 1] + numbers[middle]) / 2;
}

Timing summarize(const std::vector<Batch> &batches) {
  std::vector<double> wall, cpu;
  Timing timing;
  for (const Batch &batch : batches) {
    const auto calls = static_cast<double>(batch.calls);
    wall.push_back(batch.wall / calls);
    cpu.push_back(batch.cpu / calls);
    timing.calls += batch.calls;
  }
  timing.best = *std::ranges::min_element(cpu);
  timing.median = medianOf(cpu);
  timing.wall = medianOf(wall);
  return timing;
}

/// Long enough for the clocks, short enough to lie between two turns of the
/// scheduler now and then.
int64_t callsOfBatch(double secondsOfCall) {
  constexpr double batch = 2e-3;
  constexpr double most = 100'000;
  return static_cast<int64_t>(
      std::clamp(std::ceil(batch / std::max(secondsOfCall, 1e-9)), 1.0, most));
}

runtime::Result<Timing>
measure(double seconds, const std::function<Status()> &call, int threads) {
  constexpr size_t leastBatches = 3;
  const auto cpuSeconds = [threads] {
    return threads == 1 ? threadSeconds() : processSeconds() / threads;
  };
  const auto batchOf = [&](int64_t calls) -> runtime::Result<Batch> {
    const double wall = wallSeconds(), cpu = cpuSeconds();
    for (int64_t i = 0; i < calls; ++i)
      WEFT_RETURN_IF_ERROR(call());
    return Batch{calls, wallSeconds() - wall, cpuSeconds() - cpu};
  };
  const double end = wallSeconds() + seconds;
  // The first one meets cold caches and pages; the second is as the others.
  WEFT_RETURN_IF_ERROR(call());
  WEFT_ASSIGN_OR_RETURN(const Batch probe, batchOf(1));
  const int64_t calls = callsOfBatch(probe.cpu);
  std::vector<Batch> batches;
  while (batches.size() < leastBatches || wallSeconds() < end) {
    WEFT_ASSIGN_OR_RETURN(const Batch batch, batchOf(calls));
    batches.push_back(batch);
  }
  return summarize(batches);
}

} // namespace weft::tools
