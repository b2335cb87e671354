//===- Arrival.cpp - Messages about ranks that do not arrive ----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "launch/Arrival.h"

#include <fmt/format.h>

namespace weft::runtime {

std::string shortList(const std::vector<int> &ranks) {
  constexpr size_t limit = 16;
  if (ranks.size() <= limit)
    return describeRanks(ranks);
  return fmt::format("{} and {} more", describeRanks({ranks.data(), limit}),
                     ranks.size() - limit);
}

Status notArrived(const Launch &launch, const std::set<int> &arrived,
                  const std::string &address,
                  std::chrono::nanoseconds timeout) {
  std::vector<int> missing;
  for (int r = 0; r < launch.world; ++r)
    if (!arrived.contains(r))
      missing.push_back(r);
  return deadlineExceeded(fmt::format(
      "rank {} waited {} at {} for {}; {} of {} arrived (ranks and address by "
      "{})",
      launch.rank, describeDuration(timeout), address, shortList(missing),
      shortList({arrived.begin(), arrived.end()}), launch.world,
      launch.launcher));
}

} // namespace weft::runtime
