//===- ExpectedValues.cpp - What collectives must give --------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpectedValues.h"

using weft::cost::CollectiveKind;

namespace weft::tools {

/// Values repeat, and so do their sums.
static constexpr int64_t period = 8;

double valueOf(int rank, int64_t index) {
  return static_cast<double>((rank * 5 + index) % period);
}

int senderOf(const CollectiveCase &run, int rank) {
  return (rank + run.ranks - 1) % run.ranks;
}

ExpectedValues::ExpectedValues(const CollectiveCase &run, int rank)
    : run(run), rank(rank) {
  for (int64_t at = 0; at < period; ++at)
    for (int r = 0; r < run.ranks; ++r)
      sums[at] += valueOf(r, at);
}

double ExpectedValues::at(int64_t index) const {
  const int64_t shard = run.elements() / run.ranks;
  const auto sender = static_cast<int>(index / shard);
  switch (run.kind) {
  case CollectiveKind::AllReduce:
    return sums[index % period];
  case CollectiveKind::ReduceScatter:
    return sums[(rank * shard + index) % period];
  case CollectiveKind::AllGather:
    return valueOf(sender, index % shard);
  case CollectiveKind::AllToAll:
    return valueOf(sender, rank * shard + index % shard);
  case CollectiveKind::Permute:
  case CollectiveKind::Exchange:
    break;
  }
  return valueOf(senderOf(run, rank), index);
}

} // namespace weft::tools
