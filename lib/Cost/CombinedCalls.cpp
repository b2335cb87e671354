//===- CombinedCalls.cpp - Collectives that become one call ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/CombinedCalls.h"

#include <algorithm>
#include <tuple>

using namespace weft::cost;

/// A call as late as its first result allows serves most of what is left, so
/// that the calls are the fewest.
double weft::cost::combinedLatency(std::vector<PendingCall> pending) {
  std::sort(pending.begin(), pending.end(),
            [](const PendingCall &a, const PendingCall &b) {
              return std::tie(a.kind, a.latest, a.earliest) <
                     std::tie(b.kind, b.latest, b.earliest);
            });
  double seconds = 0;
  for (auto next = pending.begin(); next != pending.end();) {
    const int64_t kind = next->kind;
    const size_t position = next->latest;
    double latency = 0;
    for (; next != pending.end() && next->kind == kind &&
           next->earliest <= position;
         ++next)
      latency = std::max(latency, next->latencySeconds);
    seconds += latency;
  }
  return seconds;
}
