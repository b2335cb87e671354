//===- Usage.cpp - What a rank spends its time on -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Simulate/Usage.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace weft;
using namespace weft::simulate;

Picoseconds simulate::toPicoseconds(double seconds) {
  const double time = seconds * static_cast<double>(oneSecond);
  // Not a number compares false.
  if (!(time < static_cast<double>(longestStep)))
    return longestStep;
  return std::max<Picoseconds>(0, std::llround(time));
}

/// A plan may claim any number of operations.
static int64_t saturated(__int128 sum) {
  return static_cast<int64_t>(std::min<__int128>(sum, INT64_MAX));
}

static void addDifference(int64_t &to, int64_t after, int64_t before,
                          int64_t times) {
  to = saturated(static_cast<__int128>(after - before) * times + to);
}

void Usage::addDifference(const Usage &after, const Usage &before,
                          int64_t times) {
  const auto add = [&](int64_t Usage::*sum) {
    ::addDifference(this->*sum, after.*sum, before.*sum, times);
  };
  for (int64_t Usage::*sum :
       {&Usage::contention, &Usage::host, &Usage::executedAtPeak,
        &Usage::modelAtPeak, &Usage::executedFlops, &Usage::modelFlops})
    add(sum);
  for (size_t i = 0; i < kernels.size(); ++i)
    ::addDifference(kernels[i], after.kernels[i], before.kernels[i], times);
  for (size_t i = 0; i < communication.size(); ++i) {
    const Communication &from = before.communication[i],
                        &to = after.communication[i];
    ::addDifference(communication[i].total, to.total, from.total, times);
    ::addDifference(communication[i].exposed, to.exposed, from.exposed, times);
  }
  for (size_t i = 0; i < sentBytes.size(); ++i)
    ::addDifference(sentBytes[i], after.sentBytes[i], before.sentBytes[i],
                    times);
}

void Usage::addFlops(int64_t flops, Picoseconds atPeak, bool recomputes) {
  ::addDifference(executedFlops, flops, 0, 1);
  ::addDifference(executedAtPeak, atPeak, 0, 1);
  ::addDifference(modelFlops, flops, 0, !recomputes);
  ::addDifference(modelAtPeak, atPeak, 0, !recomputes);
}

Picoseconds Usage::busy() const {
  return std::accumulate(kernels.begin(), kernels.end(), Picoseconds(0));
}

Picoseconds Usage::exposed() const {
  Picoseconds sum = 0;
  for (const Communication &each : communication)
    sum += each.exposed;
  return sum;
}
