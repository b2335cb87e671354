//===- ChainSearch.h - Every schedule of a small chain ----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The least work of a chain's derivative under a limit, found by looking at all
// schedules: at any time any region whose input is there may run, keeping all,
// some or none of its values, and anything may be dropped. Shares no code with
// planChain, and none of its conditions.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_TEST_UNIT_SEARCH_CHAINSEARCH_H
#define WEFT_TEST_UNIT_SEARCH_CHAINSEARCH_H

#include "weft/Search/ChainRecomputation.h"

namespace weft {

/// Whether the input of a region may be dropped while values of the region are
/// kept. No weft.checkpoint does that: what it keeps, it keeps beside its
/// operands.
enum class Dropping { Freely, WithValues };

/// Flops computed again by the best of all schedules; no value if none stays
/// under the limit.
std::optional<double> searchChain(const std::vector<ChainRegion> &regions,
                                  int64_t limit, Dropping inputs);

} // namespace weft

#endif // WEFT_TEST_UNIT_SEARCH_CHAINSEARCH_H
