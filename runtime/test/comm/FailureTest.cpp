//===- FailureTest.cpp - Missing ranks, disagreement, bad arguments, abort
//-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

#include <gmock/gmock.h>

#include <atomic>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace weft::runtime;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

namespace {

Status sum(Communicator &ranks, const CallContext &context, int64_t count = 1) {
  std::vector<float> x(count);
  return ranks.allReduce(x.data(), x.data(), count, DType::F32, Reduction::Sum,
                         context);
}

TEST(Failure, MissingRanksAreNamedByTheirNumberInTheWorld) {
  auto world = InProcessWorld::create(8, {{{0, 2, 4, 6}}});
  ASSERT_TRUE(world.ok());
  const auto statuses = runRanks(8, [&](int rank) {
    if (rank != 0 && rank != 6)
      return Status();
    return sum(*(*world)->communicator(rank, 0),
               {.planStep = 17, .cause = "gradient of w1", .timeout = 50ms});
  });
  // The first verdict holds for both.
  EXPECT_EQ(statuses[0].code(), StatusCode::DeadlineExceeded);
  EXPECT_EQ(statuses[0], statuses[6]);
  EXPECT_THAT(statuses[0].message(),
              testing::MatchesRegex(
                  "step 17 all_reduce on rank [06]: ranks 2, 4 did not arrive "
                  "within 50 ms \\(gradient of w1\\)"));
}

TEST(Failure, OfSeveralCollectivesInOneTheFirstIsNamed) {
  const auto world = makeWorld(2);
  const Status status = sum(
      *world->communicator(1, 0),
      {.planStep = 17,
       .cause = "2 collectives in one:\n4 B: loss\n1.00 KiB: gradient of w1",
       .timeout = 10ms});
  EXPECT_EQ(status.message(),
            "step 17 all_reduce on rank 1: rank 0 did not arrive within 10 ms "
            "(2 collectives in one: 4 B: loss; and 1 more)");
}

TEST(Failure, OneMissingRankOutsideAPlan) {
  const auto world = makeWorld(2);
  const Status status = world->communicator(1, 0)->barrier({.timeout = 10ms});
  EXPECT_EQ(status.message(),
            "barrier on rank 1: rank 0 did not arrive within 10 ms");
}

TEST(Failure, ALateRankGetsTheVerdictOfTheGroup) {
  const auto world = makeWorld(2);
  const Status first = world->communicator(0, 0)->barrier({.timeout = 1ms});
  EXPECT_EQ(first.code(), StatusCode::DeadlineExceeded);
  EXPECT_EQ(world->communicator(1, 0)->barrier({}), first);
  EXPECT_EQ(world->communicator(0, 0)->barrier({}), first);
  EXPECT_TRUE(world->status().ok()) << "the other groups go on";
}

/// Runs `body` on three ranks and expects every rank to report a disagreement.
void expectDisagreement(const std::function<Status(Communicator &)> &body,
                        const std::string &first, const std::string &second) {
  const auto world = makeWorld(3);
  const auto statuses = runRanks(
      3, [&](int rank) { return body(*world->communicator(rank, 0)); });
  for (const Status &status : statuses) {
    EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("the ranks of group {0, 1, 2} call different "
                                "operations"),
                      HasSubstr(first), HasSubstr(second)));
  }
}

TEST(Failure, DifferentCountsAreReportedOnEveryRank) {
  expectDisagreement(
      [](Communicator &ranks) {
        return sum(ranks, {.planStep = 4, .cause = "loss"},
                   ranks.rank() == 2 ? 9 : 8);
      },
      "rank 0 calls all_reduce sum of f32[8] at step 4 (loss)",
      "but rank 2 calls all_reduce sum of f32[9] at step 4 (loss)");
}

TEST(Failure, DifferentOperationsAreReportedOnEveryRank) {
  expectDisagreement(
      [](Communicator &ranks) {
        float x = 0, y[3];
        if (ranks.rank() == 1)
          return ranks.allGather(&x, y, 1, 1, DType::F32, {.planStep = 5});
        return ranks.allReduce(&x, &x, 1, DType::F32, Reduction::Sum, {});
      },
      "rank 0 calls all_reduce sum of f32[1]",
      "rank 1 calls all_gather of f32[outer 1, inner 1] at step 5");
}

TEST(Failure, DifferentTypesReductionsAndRootsAreReported) {
  expectDisagreement(
      [](Communicator &ranks) {
        int32_t x = 0;
        return ranks.allReduce(&x, &x, 1,
                               ranks.rank() ? DType::I32 : DType::F32,
                               Reduction::Sum, {});
      },
      "all_reduce sum of f32[1]", "all_reduce sum of i32[1]");
  expectDisagreement(
      [](Communicator &ranks) {
        int32_t x = 0;
        return ranks.allReduce(
            &x, &x, 1, DType::I32,
            ranks.rank() == 2 ? Reduction::Min : Reduction::Max, {});
      },
      "all_reduce max of i32[1]", "all_reduce min of i32[1]");
  expectDisagreement(
      [](Communicator &ranks) {
        int32_t x[6] = {}, y[6];
        return ranks.allToAll(x, y, 1, 2, 1, ranks.rank() == 0, DType::I32, {});
      },
      "all_to_all of i32[outer 1, middle 2, inner 1] split first",
      "split last");
}

/// Expects a call of rank 0 to be refused and rank 1, already waiting, to be
/// told the same.
void expectInvalid(const std::function<Status(Communicator &)> &call,
                   const std::string &message) {
  const auto world = makeWorld(2);
  const auto statuses = runRanks(2, [&](int rank) {
    Communicator &ranks = *world->communicator(rank, 0);
    return rank == 0 ? call(ranks) : ranks.barrier({});
  });
  EXPECT_EQ(statuses[0].code(), StatusCode::InvalidArgument);
  EXPECT_EQ(statuses[0].message(), message);
  EXPECT_EQ(statuses[0], statuses[1]);
}

TEST(Failure, InvalidArguments) {
  static float x[8];
  expectInvalid(
      [](Communicator &ranks) {
        return ranks.allReduce(nullptr, x, 1, DType::F32, Reduction::Sum,
                               {.planStep = 1});
      },
      "step 1 all_reduce on rank 0: the source is null");
  expectInvalid(
      [](Communicator &ranks) {
        return ranks.permute(x, nullptr, 1, DType::F32, 1, {});
      },
      "permute on rank 0: the destination is null");
  expectInvalid(
      [](Communicator &ranks) {
        return ranks.allGather(x, x, 1, 4, DType::F32, {});
      },
      "all_gather on rank 0: the source and the destination overlap");
  expectInvalid(
      [](Communicator &ranks) {
        return ranks.allReduce(x, x + 1, 4, DType::F32, Reduction::Sum, {});
      },
      "all_reduce on rank 0: the source and the destination overlap");
  expectInvalid(
      [](Communicator &ranks) {
        return ranks.permute(reinterpret_cast<char *>(x) + 1, x + 4, 1,
                             DType::F32, 1, {});
      },
      "permute on rank 0: the source is not aligned to the 4 bytes of f32");
  expectInvalid(
      [](Communicator &ranks) {
        return ranks.allGather(x, x + 4, -1, 4, DType::F32, {});
      },
      "all_gather on rank 0: the extents must not be negative and their "
      "product must fit in 63 bits, got outer -1, middle 1, inner 4");
  expectInvalid(
      [](Communicator &ranks) {
        return ranks.reduceScatter(x, x + 4, int64_t(1) << 40, int64_t(1) << 40,
                                   DType::F32, Reduction::Sum, {});
      },
      "reduce_scatter on rank 0: the extents must not be negative and their "
      "product must fit in 63 bits, got outer 1099511627776, middle 1, inner "
      "1099511627776");
  expectInvalid(
      [](Communicator &ranks) {
        return ranks.allReduce(x, x, 1, DType::Pred, Reduction::Sum, {});
      },
      "all_reduce on rank 0: the sum of pred is not supported; use max (or) "
      "or min (and)");
  expectInvalid(
      [](Communicator &ranks) {
        return ranks.allReduce(x, x, 1, DType::F32, static_cast<Reduction>(9),
                               {});
      },
      "all_reduce on rank 0: 9 is not a reduction");
  expectInvalid(
      [](Communicator &ranks) {
        return ranks.allReduce(x, x, 1, static_cast<DType>(77), Reduction::Sum,
                               {});
      },
      "all_reduce on rank 0: 77 is not an element type");
  expectInvalid(
      [](Communicator &ranks) {
        return ranks.permute(x, x + 4, 1, DType::F32, -1, {});
      },
      "permute on rank 0: the rank to receive from must be a rank of the "
      "group, 0 to 1, got -1");
  expectInvalid(
      [](Communicator &ranks) {
        const Exchange exchange{
            .before = 2, .after = 2, .blocks = {{2, 0, 0, 0, 1, 1}}};
        return ranks.exchange(x, x + 4, exchange, DType::F32, {});
      },
      "exchange on rank 0: the sender of a block must be a rank of the group, "
      "0 to 1, got 2");
  expectInvalid(
      [](Communicator &ranks) {
        const Exchange exchange{
            .before = 2, .after = 2, .blocks = {{1, 0, 1, 0, 2, 1}}};
        return ranks.exchange(x, x + 4, exchange, DType::F32, {});
      },
      "exchange on rank 0: a block of 2 elements from 1 by 1 to 0 is not in "
      "the 2 elements before and 2 after");
}

TEST(Abort, WakesEveryWaiterOfEveryGroupAtOnce) {
  auto created =
      InProcessWorld::create(6, {{{0, 1}, {2, 3}}, {{0, 1, 2, 3, 4, 5}}});
  ASSERT_TRUE(created.ok());
  InProcessWorld &world = **created;
  const Status reason = unavailable("rank 5 lost its disk");
  const auto begin = std::chrono::steady_clock::now();
  const auto statuses = runRanks(6, [&](int rank) {
    float x = 0;
    switch (rank) {
    case 0:
      return world.communicator(0, 0)->barrier({.timeout = 60s});
    case 1:
      return sum(*world.communicator(1, 1), {.timeout = 60s});
    case 2:
      return world.communicator(2, 0)->allReduce(
          &x, &x, 1, DType::F32, Reduction::Sum, {.timeout = 60s});
    case 3:
      return world.communicator(3, 1)->barrier({.timeout = 60s});
    case 4:
      return sum(*world.communicator(4, 1),
                 {.timeout = std::chrono::nanoseconds::max()});
    default:
      std::this_thread::sleep_for(50ms);
      world.abort(reason);
      world.abort(internalError("a second reason"));
      return reason;
    }
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  for (const Status &status : statuses)
    EXPECT_EQ(status, reason);
  EXPECT_EQ(world.status(), reason);
  EXPECT_EQ(world.communicator(5, 1)->barrier({}), reason);
}

TEST(Abort, InTheMiddleOfTrafficEveryRankStopsWithTheReason) {
  for (int run = 0; run < 20; ++run) {
    const auto world = makeWorld(4);
    const Status reason = unavailable("stop");
    std::atomic<int> rounds = 0;
    std::thread killer([&] {
      while (rounds.load() < 40 * (run + 1))
        std::this_thread::yield();
      world->abort(reason);
    });
    const auto statuses = runRanks(4, [&](int rank) {
      Communicator &ranks = *world->communicator(rank, 0);
      // The buffers die with the loop: no peer may touch them after a return.
      while (true) {
        std::vector<float> x(257, 1.0f);
        WEFT_RETURN_IF_ERROR(ranks.allReduce(x.data(), x.data(), 257,
                                             DType::F32, Reduction::Sum, {}));
        EXPECT_EQ(x[256], 4.0f);
        rounds.fetch_add(1);
      }
    });
    killer.join();
    for (const Status &status : statuses)
      EXPECT_EQ(status, reason);
  }
}

TEST(Deadline, ARaceOfArrivalAndDeadlineEndsTheSameOnAllRanks) {
  // The last rank arrives about when the others give up. Either all meet, or
  // all report the same verdict.
  for (int run = 0; run < 200; ++run) {
    const auto world = makeWorld(3);
    const auto statuses = runRanks(3, [&](int rank) {
      if (rank == 2)
        std::this_thread::sleep_for(900us + run * 1us);
      return sum(*world->communicator(rank, 0), {.timeout = 1ms}, 33);
    });
    EXPECT_EQ(statuses[0], statuses[1]);
    EXPECT_EQ(statuses[0], statuses[2]);
  }
}

TEST(World, RefusesBadGroups) {
  const auto message = [](int ranks, const std::vector<GroupRanks> &groups) {
    const auto world = InProcessWorld::create(ranks, groups);
    EXPECT_EQ(world.status().code(), StatusCode::InvalidArgument);
    return world.status().message();
  };
  EXPECT_EQ(message(0, {}), "a world needs at least one rank, got 0");
  EXPECT_EQ(message(2, {{{0, 1}}, {{0, 2}}}),
            "group 1: rank 2 is not one of the 2 ranks of the world");
  EXPECT_EQ(message(3, {{{0, 1}, {2, 1}}}), "group 0: rank 1 is listed twice");
  EXPECT_EQ(message(3, {{{}}}), "group 0: a list of ranks is empty");
}

TEST(World, ACommunicatorKnowsItsPlace) {
  auto world = InProcessWorld::create(4, {{{2, 0}}, {{1, 3}, {0, 2}}});
  ASSERT_TRUE(world.ok());
  Communicator *ranks = (*world)->communicator(0, 0);
  ASSERT_NE(ranks, nullptr);
  EXPECT_EQ(ranks->rank(), 1);
  EXPECT_EQ(ranks->size(), 2);
  EXPECT_EQ(ranks->worldRank(), 0);
  EXPECT_THAT(ranks->worldRanks(), testing::ElementsAre(2, 0));
  EXPECT_EQ((*world)->communicator(1, 0), nullptr);
  EXPECT_EQ((*world)->communicator(4, 0), nullptr);
  EXPECT_EQ((*world)->communicator(0, 2), nullptr);
  EXPECT_EQ((*world)->size(), 4);
}

/// A deadline does not count the time in which the process is stopped.
TEST(Failure, AStoppedProcessDoesNotWait) {
  int toChild[2], toParent[2];
  ASSERT_EQ(pipe(toChild), 0);
  ASSERT_EQ(pipe(toParent), 0);
  char byte = 0;
  const pid_t child = fork();
  if (child == 0) {
    auto world = InProcessWorld::create(2, {{{0, 1}}});
    const CallContext context{.timeout = 800ms};
    std::thread late([&] {
      if (read(toChild[0], &byte, 1) == 1)
        (void)(*world)->communicator(1, 0)->barrier(context);
    });
    if (write(toParent[1], "r", 1) != 1)
      _exit(1);
    _exit((*world)->communicator(0, 0)->barrier(context).ok() ? 7 : 1);
  }
  ASSERT_EQ(read(toParent[0], &byte, 1), 1);
  for (int i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(20ms);
    ASSERT_EQ(kill(child, SIGSTOP), 0);
    std::this_thread::sleep_for(1s);
    ASSERT_EQ(kill(child, SIGCONT), 0);
  }
  ASSERT_EQ(write(toChild[1], "g", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

} // namespace
