//===- RankThreads.h - Run a function on ranks that are threads -*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_COMM_RANKTHREADS_H
#define WEFT_RUNTIME_TEST_COMM_RANKTHREADS_H

#include "weft/runtime/InProcessWorld.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <ostream>
#include <thread>
#include <vector>

namespace weft::runtime {

/// How gtest prints a status.
inline void PrintTo(const Status &status, std::ostream *stream) {
  *stream << status.toString();
}

/// Calls `body(rank)` on a thread per rank; the statuses they return.
inline std::vector<Status> runRanks(int ranks,
                                    const std::function<Status(int)> &body) {
  std::vector<Status> statuses(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { statuses[rank] = body(rank); });
  for (std::thread &thread : threads)
    thread.join();
  return statuses;
}

inline std::vector<int> allRanks(int ranks) {
  std::vector<int> list(ranks);
  std::iota(list.begin(), list.end(), 0);
  return list;
}

/// A world with one group of all ranks.
inline std::unique_ptr<InProcessWorld> makeWorld(int ranks) {
  auto world = InProcessWorld::create(ranks, {{allRanks(ranks)}});
  EXPECT_TRUE(world.ok()) << world.status().message();
  return std::move(*world);
}

/// A world of what the tests run over: threads of this process, or several
/// processes that run the same tests (ThreadWorlds.cpp, MpiWorlds.cpp).
std::shared_ptr<World> createWorld(int ranks,
                                   const std::vector<GroupRanks> &groups,
                                   const std::vector<QueueRanks> &queues = {});

/// Runs `body(communicator)` on every rank of this process in a world with one
/// group of all, and expects success.
inline void runCollective(int ranks,
                          const std::function<Status(Communicator &)> &body) {
  const auto world = createWorld(ranks, {{allRanks(ranks)}});
  const auto statuses = runRanks(ranks, [&](int rank) {
    Communicator *const communicator = world->communicator(rank, 0);
    return communicator ? body(*communicator) : Status();
  });
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_TRUE(statuses[rank].ok()) << statuses[rank].toString();
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_COMM_RANKTHREADS_H
