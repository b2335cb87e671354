//===- CollectiveCost.h - Price of a collective -----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The alpha-beta model: a collective costs a latency and a time for each byte
// that a device sends. Bytes are those of the bandwidth-optimal (ring)
// algorithms. Used by the reshard planner to choose, and by the partitioner to
// report.
//
// Example: an all-gather over 4 devices whose result is 4 MiB on each sends
// 3 MiB from each device; on a link of 50 GB/s and 5 us it takes 68 us.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_COST_COLLECTIVECOST_H
#define WEFT_COST_COLLECTIVECOST_H

#include "weft/Sharding/Mesh.h"

namespace weft::cost {

enum class CollectiveKind : uint8_t {
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  Permute,
};

/// Bytes that one device sends in a collective of `groupSize` devices.
/// `localBytes` is the larger of operand and result on one device: the result
/// of an all-gather, the operand of a reduce-scatter, either of the others.
int64_t wireBytes(CollectiveKind kind, int64_t localBytes, int64_t groupSize);

/// What connects neighbours along a mesh axis.
struct Link {
  double latencySeconds = 5e-6;
  double secondsPerByte = 1.0 / 50e9;

  bool operator==(const Link &other) const = default;
};

/// Prices collectives on a mesh. A collective over several axes runs at the
/// pace of the slowest of them.
class CollectiveCost {
public:
  /// Every axis has the default link.
  CollectiveCost() = default;
  explicit CollectiveCost(Link everywhere) : fallback_(everywhere) {}
  /// One link an axis, in mesh order.
  explicit CollectiveCost(std::vector<Link> links) : links_(std::move(links)) {}

  const Link &link(int32_t axis) const {
    return static_cast<size_t>(axis) < links_.size() ? links_[axis] : fallback_;
  }
  /// The largest latency and the largest time a byte of the links of `axes`.
  Link slowest(llvm::ArrayRef<sharding::AxisRef> axes) const;
  /// Time of a collective that sends `bytes` from each device over `axes`.
  double seconds(int64_t bytes, llvm::ArrayRef<sharding::AxisRef> axes) const;

private:
  std::vector<Link> links_;
  Link fallback_;
};

} // namespace weft::cost

#endif // WEFT_COST_COLLECTIVECOST_H
