//===- CollectiveCost.cpp - Price of a collective -------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/Cost/CollectiveCost.h"

#include <algorithm>

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
    return localBytes;
  }
  return localBytes;
}

Link CollectiveCost::slowest(llvm::ArrayRef<sharding::AxisRef> axes) const {
  if (axes.empty())
    return fallback_;
  Link result = link(axes.front().axis);
  for (const sharding::AxisRef &ref : axes.drop_front()) {
    const Link &other = link(ref.axis);
    result.latencySeconds =
        std::max(result.latencySeconds, other.latencySeconds);
    result.secondsPerByte =
        std::max(result.secondsPerByte, other.secondsPerByte);
  }
  return result;
}

double CollectiveCost::seconds(int64_t bytes,
                               llvm::ArrayRef<sharding::AxisRef> axes) const {
  Link pace = slowest(axes);
  return pace.latencySeconds + static_cast<double>(bytes) * pace.secondsPerByte;
}
