//===- CollectiveCost.h - Price of a collective -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The alpha-beta model: a collective costs a latency and a time for each byte
// that a device sends. Bytes are those of the bandwidth-optimal (ring)
// algorithms. The reshard planner searches with it, because costs of steps add
// up; CostModel::links() makes one of a cluster.
//
// Example: an all-gather over 4 devices whose result is 4 MiB on each sends
// 3 MiB from each device; on a link of 50 GB/s and 5 us it takes 68 us.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_COLLECTIVECOST_H
#define WEFT_COST_COLLECTIVECOST_H

#include "weft/Cost/CollectiveKind.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace weft::cost {

/// Bytes that one device sends in a collective of `groupSize` devices.
/// `localBytes` is the larger of operand and result on one device: the result
/// of an all-gather, the operand of a reduce-scatter, either of the others.
int64_t wireBytes(CollectiveKind kind, int64_t localBytes, int64_t groupSize);

/// What connects devices.
struct Link {
  double latencySeconds = 0;
  double secondsPerByte = 0;

  bool operator==(const Link &other) const = default;
};

/// The link between devices of one block of `devices` consecutive devices, such
/// as a host.
struct LinkLevel {
  int64_t devices = 1;
  Link link;

  bool operator==(const LinkLevel &other) const = default;
};

/// Prices collectives. What a group communicates over depends on its *span*:
/// the size of the smallest block of consecutive devices, aligned to that size,
/// that holds it. With hosts of 8 devices, a group of 8 neighbours has the span
/// 8 and stays in a host; a group of every eighth of 32 devices has 4 members,
/// and the span 32.
class CollectiveCost {
public:
  explicit CollectiveCost(Link everywhere) : outermost(everywhere) {}
  /// Links of nested blocks, from the smallest; what spans more than the last
  /// one takes its link.
  explicit CollectiveCost(std::vector<LinkLevel> levels);

  const Link &link(int64_t span) const;
  /// The same links with a share of their latencies.
  CollectiveCost withLatencyShare(double share) const;
  /// Time of a collective that sends `bytes` from each device of groups of a
  /// span.
  double seconds(int64_t bytes, int64_t span) const;

  bool operator==(const CollectiveCost &other) const = default;

private:
  std::vector<LinkLevel> levels;
  Link outermost;
};

} // namespace weft::cost

#endif // WEFT_COST_COLLECTIVECOST_H
