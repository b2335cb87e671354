//===- RankRecomputation.h - What ranks of a pipeline recompute -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank of a pipeline keeps what its regions leave for the way back, of as
// many micro-batches as are in flight. Each rank has a memory of its own, so
// each recomputes as much as it has too much: of the ways to free memory those
// with the most bytes for the work come first. Ranks wait for the one that
// recomputes most.
//
// Plain C++: bytes and work in, ranges out. Work may be in any unit, such as
// seconds.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_SEARCH_RANKRECOMPUTATION_H
#define WEFT_SEARCH_RANKRECOMPUTATION_H

#include "weft/Search/ChainRecomputation.h"

#include <map>

namespace weft {

/// What a rank keeps of a region.
struct KeptRegion {
  /// Of all micro-batches in flight, but for what other regions read.
  int64_t bytes = 0;
  /// As many where the results of its matmuls are kept instead.
  int64_t dotBytes = 0;
  /// Work of computing the region once more, and without its matmuls.
  double work = 0, dotWork = 0;
};

struct RankMemory {
  /// With all that it keeps.
  int64_t bytes = 0;
  /// By their numbers in the program.
  std::map<size_t, KeptRegion> regions;
};

/// What to recompute so that every rank is at or under `limit`; its work is
/// that of the rank with the most. No value if that is not enough.
std::optional<ChainPlan> planRanks(const std::vector<RankMemory> &ranks,
                                   int64_t limit);

} // namespace weft

#endif // WEFT_SEARCH_RANKRECOMPUTATION_H
