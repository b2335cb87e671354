//===- CollectiveCost.cpp - Price of a collective -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/CollectiveCost.h"

using namespace weft;
using namespace weft::cost;

int64_t cost::wireBytes(CollectiveKind kind, int64_t localBytes,
                        int64_t groupSize) {
  if (groupSize <= 1)
    return 0;
  // A ring works on chunks; the last of an all-reduce may be short.
  int64_t chunk = (localBytes + groupSize - 1) / groupSize;
  switch (kind) {
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return (groupSize - 1) * chunk;
  case CollectiveKind::AllReduce:
    return 2 * (groupSize - 1) * chunk;
  case CollectiveKind::Permute:
  case CollectiveKind::Exchange: // at most: what moves depends on its map
    return localBytes;
  }
  return localBytes;
}

CollectiveCost::CollectiveCost(std::vector<LinkLevel> levels)
    : levels(std::move(levels)) {
  if (!this->levels.empty())
    outermost = this->levels.back().link;
}

const Link &CollectiveCost::link(int64_t span) const {
  for (const LinkLevel &level : levels)
    if (span <= level.devices)
      return level.link;
  return outermost;
}

double CollectiveCost::seconds(int64_t bytes, int64_t span) const {
  const Link &used = link(span);
  return used.latencySeconds + static_cast<double>(bytes) * used.secondsPerByte;
}

CollectiveCost CollectiveCost::withLatencyShare(double share) const {
  CollectiveCost result = *this;
  for (LinkLevel &level : result.levels)
    level.link.latencySeconds *= share;
  result.outermost.latencySeconds *= share;
  return result;
}
