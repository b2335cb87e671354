//===- MpiFailureTest.cpp - Failures of ranks in other processes ----------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiWorlds.h"

#include <gmock/gmock.h>

using namespace weft::runtime;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

constexpr int ranks = 4;

std::unique_ptr<MpiWorld> newWorld(const std::vector<GroupRanks> &groups,
                                   const std::vector<QueueRanks> &queues = {}) {
  auto world =
      MpiWorld::create(bootstrapOfTests(), ranks, "tests", groups, queues, 60s);
  EXPECT_TRUE(world.ok()) << world.status().message();
  return std::move(*world);
}

/// What the ranks of this process return.
std::vector<Status> runHere(const World &world,
                            const std::function<Status(Communicator &)> &body) {
  std::vector<Status> all = runRanks(ranks, [&](int rank) {
    Communicator *const communicator = world.communicator(rank, 0);
    return communicator ? body(*communicator) : Status();
  });
  std::vector<Status> here;
  for (int rank = 0; rank < ranks; ++rank)
    if (world.communicator(rank, 0))
      here.push_back(all[rank]);
  return here;
}

Status sum(Communicator &group, const CallContext &context, int64_t count = 1) {
  std::vector<float> x(count);
  return group.allReduce(x.data(), x.data(), count, DType::F32, Reduction::Sum,
                         context);
}

TEST(MpiFailure, RanksThatDoNotComeAreNamedInAllProcesses) {
  const auto world = newWorld({{allRanks(ranks)}});
  for (const Status &status : runHere(*world, [&](Communicator &group) {
         if (group.rank() == ranks - 1)
           std::this_thread::sleep_for(2s);
         return sum(group, {.planStep = 17, .cause = "loss", .timeout = 500ms});
       })) {
    EXPECT_EQ(status.code(), StatusCode::DeadlineExceeded);
    EXPECT_THAT(status.message(),
                AllOf(StartsWith("step 17 all_reduce on rank "),
                      HasSubstr("3 did not arrive within 500 ms (loss)")));
  }
}

TEST(MpiFailure, DifferentCallsAreReportedOnEveryRank) {
  const auto world = newWorld({{allRanks(ranks)}});
  const int processes = bootstrapOfTests().launch().world;
  for (const Status &status : runHere(*world, [&](Communicator &group) {
         // All ranks of the last process, so that it is between processes.
         const bool isLast =
             group.rank() / (ranks / processes) == processes - 1;
         return sum(group, {.planStep = 4, .cause = "loss"}, isLast ? 9 : 8);
       })) {
    EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
    EXPECT_THAT(
        status.message(),
        AllOf(HasSubstr("the ranks of group {0, 1, 2, 3} call different "
                        "operations: rank 0 calls all_reduce sum of f32[8] at "
                        "step 4 (loss), but rank "),
              HasSubstr("calls all_reduce sum of f32[9] at step 4 (loss)")));
  }
}

TEST(MpiFailure, AnInvalidCallOfOneRankEndsAll) {
  const auto world = newWorld({{allRanks(ranks)}});
  for (const Status &status : runHere(*world, [&](Communicator &group) {
         float x = 0;
         return group.allReduce(group.rank() == 0 ? nullptr : &x, &x, 1,
                                DType::F32, Reduction::Sum, {});
       }))
    EXPECT_EQ(status,
              invalidArgument("all_reduce on rank 0: the source is null"));
}

TEST(MpiFailure, AGroupThatHasFailedStaysSoAndOthersGoOn) {
  const auto world = newWorld({{allRanks(ranks)}, {allRanks(ranks)}});
  const auto first = runHere(*world, [&](Communicator &group) {
    float x = 0;
    return group.allReduce(group.rank() == 1 ? nullptr : &x, &x, 1, DType::F32,
                           Reduction::Sum, {});
  });
  EXPECT_EQ(
      runHere(*world, [](Communicator &group) { return group.barrier({}); }),
      first);
  for (int rank : world->localRanks())
    EXPECT_TRUE(world->status().ok());
  const auto statuses = runRanks(ranks, [&](int rank) {
    Communicator *const group = world->communicator(rank, 1);
    return group ? group->barrier({}) : Status();
  });
  EXPECT_EQ(statuses, std::vector<Status>(ranks));
}

TEST(MpiFailure, AnEndOfAQueueThatDoesNotStart) {
  const auto world = newWorld({{allRanks(ranks)}}, {{{{0, ranks - 1}}, 1}});
  std::vector<float> x(1);
  Transfer transfer;
  transfer.parts = {{reinterpret_cast<std::byte *>(x.data()), 4, DType::F32}};
  transfer.label = "h";
  transfer.timeout = 300ms;
  const auto statuses = runRanks(ranks, [&](int rank) {
    Channel *const channel = world->channel(rank, 0);
    // The processes may be far apart.
    if (Communicator *const all = world->communicator(rank, 0))
      WEFT_RETURN_IF_ERROR(all->barrier({}));
    if (!channel)
      return Status();
    if (rank != 0)
      std::this_thread::sleep_for(2s);
    return channel->wait(channel->start(transfer));
  });
  for (int rank : {0, ranks - 1})
    if (world->channel(rank, 0))
      EXPECT_EQ(statuses[rank],
                deadlineExceeded("role 0 action 0: send of message 0 \"h\" "
                                 "(micro-batch 0) on rank 0: rank 3 did not "
                                 "receive it within 300 ms"));
}

/// In a job of its own, which is over with it.
TEST(MpiAbort, EndsAllWaitsInAllProcesses) {
  const auto world = newWorld({{allRanks(ranks)}});
  const auto begin = std::chrono::steady_clock::now();
  for (const Status &status : runHere(*world, [&](Communicator &group) {
         if (group.rank() != 0)
           return group.barrier({.timeout = 60s});
         std::this_thread::sleep_for(100ms);
         world->abort(unavailable("rank 0 lost its disk"));
         return world->status();
       }))
    EXPECT_THAT(status.message(), HasSubstr("rank 0 lost its disk"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

} // namespace
