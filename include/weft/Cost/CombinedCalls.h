//===- CombinedCalls.h - Collectives that become one call -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective can be called at any position of a program from where its
// operand is ready up to where its result is needed. Collectives of one kind
// that have a position in common can be one call, with one latency. Where each
// is called is not decided here; this prices shardings, of which the
// collectives are made later (--weft-combine-collectives).
//
// Example: positions 0 to 4, 2 to 5, and 6 to 7 are two calls: the first two
// collectives at 4, the third at 7.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_COMBINEDCALLS_H
#define WEFT_COST_COMBINEDCALLS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::cost {

struct PendingCall {
  /// Those of one kind can be one call.
  int64_t kind = 0;
  /// Positions at which it can be called, both included; `earliest` is at most
  /// `latest`.
  size_t earliest = 0, latest = 0;
  double latencySeconds = 0;
};

/// Seconds of latency of the fewest calls that make all of `pending`. A call
/// takes the longest latency of its collectives.
double combinedLatency(std::vector<PendingCall> pending);

} // namespace weft::cost

#endif // WEFT_COST_COMBINEDCALLS_H
