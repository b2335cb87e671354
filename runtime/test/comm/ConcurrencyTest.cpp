//===- ConcurrencyTest.cpp - Several communicators and threads per rank ---===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

using namespace weft::runtime;

/// 2 x 4 ranks; rows, columns and everyone, each group with a thread of its
/// own on every rank, all running at the same time.
TEST(Concurrency, ThreadsOfARankUseDifferentCommunicators) {
  constexpr int ranks = 8, rounds = 60;
  const auto world = createWorld(ranks, {{{0, 1, 2, 3}, {4, 5, 6, 7}},
                                         {{0, 4}, {1, 5}, {2, 6}, {3, 7}},
                                         {allRanks(ranks)}});
  constexpr size_t groups = 3;

  const auto statuses = runRanks(ranks * groups, [&](int thread) -> Status {
    const int rank = thread / static_cast<int>(groups);
    if (!world->communicator(rank, 0))
      return {}; // of another process
    Communicator &group = *world->communicator(rank, thread % groups);
    for (int round = 0; round < rounds; ++round) {
      std::vector<int32_t> x(100 + round, rank + round);
      WEFT_RETURN_IF_ERROR(group.allReduce(x.data(), x.data(), x.size(),
                                           DType::I32, Reduction::Sum, {}));
      int32_t expected = 0;
      for (int member : group.worldRanks())
        expected += member + round;
      EXPECT_EQ(x, std::vector<int32_t>(x.size(), expected));
    }
    return {};
  });
  for (const Status &status : statuses)
    EXPECT_TRUE(status.ok()) << status.toString();
}

/// Ranks leave a small collective early, with a large one or another small one
/// to follow, and change what they have given at once.
TEST(Concurrency, SmallAndLargeInTurns) {
  constexpr int ranks = 5, rounds = 400;
  runCollective(ranks, [](Communicator &group) -> Status {
    for (int round = 0; round < rounds; ++round) {
      // 1 KiB is small.
      const int64_t count = round % 7 == 0 ? 300 : round % 3 == 0 ? 256 : 1;
      std::vector<int32_t> x(count, group.rank() * rounds + round), sum(count);
      std::vector<int32_t> all(count * ranks);
      if (round % 11 == group.rank())
        std::this_thread::yield();
      WEFT_RETURN_IF_ERROR(group.allReduce(x.data(), sum.data(), count,
                                           DType::I32, Reduction::Sum, {}));
      x.assign(count, group.rank() - round);
      WEFT_RETURN_IF_ERROR(
          group.allGather(x.data(), all.data(), 1, count, DType::I32, {}));
      x.assign(count, -1);
      EXPECT_EQ(sum, std::vector<int32_t>(count, 10 * rounds + 5 * round));
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(all[rank * count], rank - round);
    }
    return {};
  });
}

TEST(Concurrency, ManyRanksOnFewCores) {
  constexpr int ranks = 32;
  runCollective(ranks, [](Communicator &group) -> Status {
    for (int round = 0; round < 20; ++round) {
      int32_t x = group.rank(), gathered[ranks];
      WEFT_RETURN_IF_ERROR(group.allGather(&x, gathered, 1, 1, DType::I32, {}));
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(gathered[rank], rank);
    }
    return {};
  });
}
