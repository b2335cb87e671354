//===- RankUsage.cpp - What each rank did in a run --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "executor/Arena.h"
#include "plan/Text.h"
#include "session/SessionImpl.h"

#include <cstring>

namespace weft::runtime {
namespace {

/// What a rank tells the other processes.
struct Told {
  int64_t total, waited;
  uint64_t residentBytes;
};

} // namespace

Result<std::vector<RankUsage>> Session::rankUsage() const {
  SessionCore &core = *impl->core;
  std::vector<Told> mine;
  for (const auto &rank : core.ranks()) {
    const bool isSeen = rank->runTime().count() != 0;
    mine.push_back(
        {isSeen ? rank->runTime().count() : core.lastRunTimes().total.count(),
         isSeen ? rank->waitTime().count() : -1, residentMemory()});
  }
  WEFT_ASSIGN_OR_RETURN(
      const std::vector<std::byte> all,
      core.gather(std::as_bytes(std::span(mine)), core.deadline()));
  std::vector<RankUsage> usage;
  for (size_t at = 0; at < all.size(); at += sizeof(Told)) {
    Told told;
    std::memcpy(&told, all.data() + at, sizeof told);
    const auto rank = static_cast<int64_t>(usage.size());
    RankUsage &each = usage.emplace_back(
        RankUsage{.rank = rank,
                  .role = core.roles().of(rank),
                  .total = std::chrono::nanoseconds(told.total),
                  .waited = std::nullopt,
                  .residentBytes = told.residentBytes});
    if (told.waited >= 0)
      each.waited = std::chrono::nanoseconds(told.waited);
  }
  return usage;
}

} // namespace weft::runtime
