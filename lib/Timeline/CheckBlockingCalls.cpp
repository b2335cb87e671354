//===- CheckBlockingCalls.cpp - Whether blocking calls can deadlock -------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JobIndex.h"

#include <algorithm>

namespace weft::timeline {

void checkBlockingCalls(JobIndex &index) {
  const std::vector<std::vector<Call>> &rows = index.job.rows;
  // By rank, the call that it is in.
  std::vector<int32_t> column(rows.size(), 0);
  std::vector<int32_t> work;
  const auto messageAt = [&](int32_t rank) {
    return index.messageOf(rows[rank][column[rank]].action);
  };
  for (size_t rank = 0; rank < rows.size(); ++rank)
    work.push_back(int32_t(rank));
  while (!work.empty()) {
    const int32_t rank = work.back();
    work.pop_back();
    int32_t &at = column[rank];
    while (size_t(at) < rows[rank].size()) {
      if (!isTransfer(rows[rank][at].action.kind)) {
        ++at;
        continue;
      }
      const int32_t message = messageAt(rank);
      const bool sends = index.sender(message) == rank;
      const int32_t peer =
          sends ? index.receiver(message) : index.sender(message);
      if (column[peer] !=
          (sends ? index.receive[message] : index.send[message]))
        break;
      ++at;
      ++column[peer];
      work.push_back(peer);
    }
  }

  const auto stuck = [&](int32_t rank) {
    return size_t(column[rank]) < rows[rank].size();
  };
  int32_t rank = 0;
  while (size_t(rank) < rows.size() && !stuck(rank))
    ++rank;
  if (size_t(rank) == rows.size()) {
    index.verdict.proved.push_back(Condition::C3);
    return;
  }
  std::vector<int32_t> chain;
  while (std::ranges::find(chain, rank) == chain.end()) {
    chain.push_back(rank);
    const int32_t message = messageAt(rank);
    rank = index.sender(message) == rank ? index.receiver(message)
                                         : index.sender(message);
  }
  chain.erase(chain.begin(), std::ranges::find(chain, rank));
  for (size_t i = 0; i < chain.size(); ++i) {
    const int32_t from = chain[i], to = chain[(i + 1) % chain.size()];
    index.verdict.cycle.push_back({from, column[from],
                                   "rank " + std::to_string(from) + " is in " +
                                       describe(index, from, column[from]) +
                                       ", rank " + std::to_string(to) + " in " +
                                       describe(index, to, column[to])});
  }
}

} // namespace weft::timeline
