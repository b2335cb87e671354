//===- CheckRanks.cpp - What is wrong with the groups of a world ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckRanks.h"

#include <fmt/format.h>

namespace weft::runtime {

static Status checkGroup(const GroupRanks &lists, int ranks) {
  std::vector<bool> seen(ranks);
  for (const std::vector<int> &members : lists) {
    if (members.empty())
      return invalidArgument("a list of ranks is empty");
    for (int rank : members) {
      if (rank < 0 || rank >= ranks)
        return invalidArgument(fmt::format(
            "rank {} is not one of the {} ranks of the world", rank, ranks));
      if (seen[rank])
        return invalidArgument(fmt::format("rank {} is listed twice", rank));
      seen[rank] = true;
    }
  }
  return {};
}

static Status checkQueue(const QueueRanks &queue, int ranks) {
  GroupRanks ends;
  for (const auto &[sender, receiver] : queue.pairs)
    ends.push_back({sender, receiver});
  return checkGroup(ends, ranks);
}

Status checkRanks(int ranks, const std::vector<GroupRanks> &groups,
                  const std::vector<QueueRanks> &queues) {
  if (ranks < 1)
    return invalidArgument(
        fmt::format("a world needs at least one rank, got {}", ranks));
  for (size_t i = 0; i < groups.size(); ++i)
    WEFT_RETURN_IF_ERROR(
        checkGroup(groups[i], ranks).withContext(fmt::format("group {}", i)));
  for (size_t i = 0; i < queues.size(); ++i)
    WEFT_RETURN_IF_ERROR(
        checkQueue(queues[i], ranks).withContext(fmt::format("queue {}", i)));
  return {};
}

} // namespace weft::runtime
