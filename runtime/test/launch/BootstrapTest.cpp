//===- BootstrapTest.cpp - The ranks of a job meet --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks are processes on loopback.
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/Bootstrap.h"
#include "Processes.h"
#include "launch/Store.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <thread>

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

struct Meeting : testing::Test {
  Launch launch(int rank, int world) const {
    Launch launch;
    launch.rank = rank;
    launch.world = world;
    launch.job = "test/job";
    launch.launcher = "the test";
    launch.meeting = {"127.0.0.1", port, 1};
    return launch;
  }
  /// A process of the rank that connects and does `use`.
  Process start(int rank, int world,
                const std::function<std::string(Bootstrap &)> &use,
                std::chrono::nanoseconds timeout = 20s) const {
    return Process([&] {
      auto bootstrap =
          Bootstrap::connect(launch(rank, world), timeout, heartbeat);
      return bootstrap.ok() ? use(**bootstrap) : bootstrap.status().toString();
    });
  }

  const uint16_t port = freePort();
  std::chrono::nanoseconds heartbeat = defaultHeartbeat;
};

std::string exchange(Bootstrap &bootstrap) {
  const int rank = bootstrap.launch().rank;
  const auto id = bootstrap.broadcast(
      "the id", rank == 0 ? std::string("i\0d", 3) : "", 20s);
  const auto all =
      bootstrap.gather("squares", fmt::format("{}", rank * rank), 20s);
  const Status barrier = bootstrap.barrier("the end", 20s);
  if (!id.ok() || !all.ok() || !barrier.ok())
    return id.status().toString() + all.status().toString() +
           barrier.toString();
  return fmt::format("{} of {} local {} of {}: {} bytes, {}", rank,
                     bootstrap.launch().world, bootstrap.launch().localRank,
                     bootstrap.launch().localWorld, id->size(),
                     fmt::join(*all, " "));
}

TEST_F(Meeting, Exchange) {
  std::vector<Process> ranks;
  for (int r = 3; r >= 0; --r)
    ranks.push_back(start(r, 4, exchange));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(
        ranks[i].finish(),
        fmt::format("{} of 4 local {} of 4: 3 bytes, 0 1 4 9", 3 - i, 3 - i));
}

TEST_F(Meeting, SecondStartSeesNothingOfTheFirst) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto use = [&](Bootstrap &bootstrap) {
      const auto old = bootstrap.store().find("old");
      (void)bootstrap.barrier("looking", 20s);
      (void)bootstrap.store().set("old", "value");
      if (bootstrap.launch().rank == 1)
        ::_exit(0); // without saying anything
      return std::string(*old ? "seen" : "unseen");
    };
    Process first = start(1, 2, use), zero = start(0, 2, use);
    EXPECT_EQ(zero.finish(), "unseen");
  }
}

TEST_F(Meeting, MissingRankIsNamed) {
  const auto none = [](Bootstrap &) { return std::string("met"); };
  Process one = start(1, 4, none, 1s), zero = start(0, 4, none, 1s),
          three = start(3, 4, none, 1s);
  EXPECT_THAT(zero.finish(),
              AllOf(HasSubstr("deadline_exceeded"),
                    HasSubstr("rank 0 waited 1 s at "),
                    HasSubstr(" for rank 2; ranks 0, 1, 3 of 4 arrived (ranks "
                              "and address by the test)"),
                    HasSubstr(launch(0, 4).meeting.toString())));
  for (Process *process : {&one, &three})
    // Rank 0 may have given up by then.
    EXPECT_THAT(process->finish(), MatchesRegex(".* for ranks? (0, )?2; .*"));
}

TEST_F(Meeting, RankZeroIsMissing) {
  Process one = start(1, 2, exchange, 300ms);
  EXPECT_THAT(one.finish(),
              AllOf(HasSubstr("rank 1 waited 300 ms "), HasSubstr("for rank 0"),
                    HasSubstr(launch(1, 2).meeting.toString())));
}

TEST_F(Meeting, AStoppedRankDoesNotWait) {
  for (const int early : {0, 1}) {
    Process first = start(early, 2, exchange, 2s);
    first.stopFor(2500ms);
    Process second = start(1 - early, 2, exchange, 20s);
    EXPECT_THAT(first.finish(), HasSubstr(" of 2 local "));
    EXPECT_THAT(second.finish(), HasSubstr(" of 2 local "));
  }
}

TEST_F(Meeting, BroadcastWithoutRankZero) {
  const auto use = [](Bootstrap &bootstrap) {
    if (bootstrap.launch().rank == 0) {
      std::this_thread::sleep_for(1s);
      return std::string();
    }
    return bootstrap.broadcast("the id", "", 100ms).status().message();
  };
  Process zero = start(0, 2, use), one = start(1, 2, use);
  EXPECT_THAT(one.finish(), MatchesRegex("rank 1 waited 100 ms at .* for rank "
                                         "0 to send the id"));
}

TEST_F(Meeting, LostRankIsNoticedAtOnce) {
  const auto use = [](Bootstrap &bootstrap) {
    if (bootstrap.launch().rank == 2)
      ::_exit(7);
    return bootstrap.barrier("the end", 30s).message();
  };
  const auto begin = std::chrono::steady_clock::now();
  Process zero = start(0, 3, use), one = start(1, 3, use),
          two = start(2, 3, use);
  for (Process *process : {&zero, &one})
    EXPECT_THAT(process->finish(),
                HasSubstr("rank 2 ended without an error message; its own "
                          "output may say why"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
}

TEST_F(Meeting, LostStoreIsNoticed) {
  const auto use = [](Bootstrap &bootstrap) {
    if (bootstrap.launch().rank == 0)
      ::_exit(7);
    return bootstrap.barrier("the end", 30s).message();
  };
  Process zero = start(0, 2, use), one = start(1, 2, use);
  EXPECT_THAT(one.finish(),
              AllOf(HasSubstr("rank 0 has ended or its host cannot be reached: "
                              "the store at tcp://127.0.0.1:"),
                    HasSubstr(", which it holds, is lost (")));
}

/// Long before the deadlines of those that wait for it.
TEST_F(Meeting, AStoppedRankIsNoticed) {
  heartbeat = 1s;
  for (const int stopped : {0, 2}) {
    const auto use = [&](Bootstrap &bootstrap) {
      (void)bootstrap.barrier("the begin", 20s);
      if (bootstrap.launch().rank == stopped)
        ::raise(SIGSTOP);
      return bootstrap.barrier("the end", 50s).message();
    };
    const auto begin = std::chrono::steady_clock::now();
    std::vector<Process> ranks;
    for (int r = 0; r < 3; ++r)
      ranks.push_back(start(r, 3, use));
    for (int r = 0; r < 3; ++r)
      if (r != stopped)
        EXPECT_THAT(ranks[r].finish(),
                    HasSubstr(fmt::format("rank {} has not answered for 1 s; "
                                          "it is stopped or its machine hangs",
                                          stopped)));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
    ranks[stopped].kill(SIGKILL);
  }
}

TEST_F(Meeting, ARankThatComputesForLongIsNotStopped) {
  heartbeat = 1s;
  const auto use = [&](Bootstrap &bootstrap) {
    const int rank = bootstrap.launch().rank;
    const auto end = std::chrono::steady_clock::now() + (1 + rank) * 2s;
    while (std::chrono::steady_clock::now() < end)
      continue;
    return exchange(bootstrap);
  };
  Process zero = start(0, 2, use), one = start(1, 2, use);
  EXPECT_THAT(zero.finish(), HasSubstr("0 of 2 local 0 of 2"));
  EXPECT_THAT(one.finish(), HasSubstr("1 of 2 local 1 of 2"));
}

/// By the shell, or with their machine.
TEST_F(Meeting, RanksThatAreAllStoppedGoOnTogether) {
  heartbeat = 1s;
  const auto use = [](Bootstrap &bootstrap) {
    (void)bootstrap.barrier("the begin", 20s);
    std::this_thread::sleep_for(1s);
    return exchange(bootstrap);
  };
  Process zero = start(0, 2, use), one = start(1, 2, use);
  std::this_thread::sleep_for(500ms);
  one.kill(SIGSTOP);
  zero.stopFor(3s);
  one.kill(SIGCONT);
  EXPECT_THAT(zero.finish(), HasSubstr("0 of 2 local 0 of 2"));
  EXPECT_THAT(one.finish(), HasSubstr("1 of 2 local 1 of 2"));
}

TEST_F(Meeting, WithoutAHeartbeatAStoppedRankMayGoOn) {
  for (const int stopped : {0, 1}) {
    const auto use = [&](Bootstrap &bootstrap) {
      (void)bootstrap.barrier("the begin", 20s);
      if (bootstrap.launch().rank == stopped)
        ::raise(SIGSTOP);
      return exchange(bootstrap);
    };
    heartbeat = 0s;
    std::vector<Process> ranks;
    for (int r = 0; r < 2; ++r)
      ranks.push_back(start(r, 2, use));
    std::this_thread::sleep_for(4s); // more than is allowed without a word
    ranks[stopped].kill(SIGCONT);
    EXPECT_THAT(ranks[0].finish(), HasSubstr("0 of 2 local 0 of 2"));
    EXPECT_THAT(ranks[1].finish(), HasSubstr("1 of 2 local 1 of 2"));
  }
}

/// The connection is that of its parent.
TEST_F(Meeting, AForkedChildMayEnd) {
  for (const int forks : {0, 1}) {
    const auto process = [&](int rank) {
      return Process([&, rank] {
        auto bootstrap = Bootstrap::connect(launch(rank, 2), 20s);
        if (!bootstrap.ok())
          return bootstrap.status().toString();
        if (rank == forks) {
          const pid_t child = ::fork();
          if (child == 0) {
            bootstrap->reset();
            ::_exit(0);
          }
          int status = -1;
          ::waitpid(child, &status, 0);
          if (status != 0)
            return std::string("the child has failed");
        }
        return exchange(**bootstrap);
      });
    };
    Process zero = process(0), one = process(1);
    EXPECT_THAT(zero.finish(), HasSubstr("0 of 2 local 0 of 2"));
    EXPECT_THAT(one.finish(), HasSubstr("1 of 2 local 1 of 2"));
  }
}

TEST_F(Meeting, HeartbeatsThatAreNone) {
  for (double seconds : {-1.0, 0.5, 1e10})
    EXPECT_EQ(
        heartbeatOf(seconds).status().message(),
        fmt::format("heartbeat must be 0 or from 1 to 1e9 seconds, got {}",
                    seconds));
  EXPECT_EQ(*heartbeatOf(0), 0s);
  EXPECT_EQ(*heartbeatOf(1.5), 1500ms);
}

/// Until all have come to the end of their programs.
Status awaitEnd(Bootstrap &bootstrap) {
  while (true) {
    WEFT_ASSIGN_OR_RETURN(const bool all, bootstrap.end());
    if (all)
      return {};
    std::this_thread::sleep_for(1ms);
  }
}

TEST_F(Meeting, AllEndTogether) {
  const auto use = [](Bootstrap &bootstrap) {
    std::this_thread::sleep_for(100ms * bootstrap.launch().rank);
    const bool areOthersLater = bootstrap.ended().size() < 3;
    return fmt::format("{} {}", areOthersLater, awaitEnd(bootstrap).toString());
  };
  std::vector<Process> processes;
  for (int rank = 0; rank < 3; ++rank)
    processes.push_back(start(rank, 3, use));
  for (Process &process : processes)
    EXPECT_EQ(process.finish(), "true ok");
}

/// Of those that wait for it, in any direction, none does so for long.
TEST_F(Meeting, NobodyWaitsForARankThatHasEnded) {
  for (int ending : {0, 2}) {
    const auto use = [&](Bootstrap &bootstrap) {
      const auto begin = Clock::now();
      Status status;
      if (bootstrap.launch().rank == ending) {
        status = awaitEnd(bootstrap);
      } else {
        status = bootstrap.barrier("what all run", 20s);
        bootstrap.fail(status.message());
      }
      return fmt::format("{} {}", Clock::now() - begin < 10s,
                         status.toString());
    };
    std::vector<Process> processes;
    for (int rank = 0; rank < 3; ++rank)
      processes.push_back(start(rank, 3, use));
    for (Process &process : processes)
      EXPECT_THAT(
          process.finish(),
          testing::ContainsRegex(fmt::format(
              "true unavailable: .*process {} has come to the end of its "
              "program, but process [012] waits for it",
              ending)));
  }
}

TEST_F(Meeting, AFailureNamesItsProcess) {
  const auto use = [](Bootstrap &bootstrap) {
    if (bootstrap.launch().rank == 1)
      bootstrap.failHere("no memory");
    const Status end = bootstrap.barrier("the end", 30s);
    return end.ok() ? bootstrap.failure().message() : end.message();
  };
  Process zero = start(0, 2, use), one = start(1, 2, use);
  EXPECT_THAT(zero.finish(), HasSubstr("process 1: no memory"));
  EXPECT_THAT(one.finish(), HasSubstr("process 1: no memory"));
}

TEST_F(Meeting, RankGivenTwice) {
  Process zero = start(0, 3, exchange, 3s), one = start(1, 3, exchange, 3s);
  std::this_thread::sleep_for(300ms);
  Process again = start(1, 3, exchange, 3s);
  EXPECT_THAT(again.finish(),
              HasSubstr("rank 1 has arrived before; every process needs a rank "
                        "of its own"));
  EXPECT_THAT(zero.finish(), HasSubstr("for rank 2"));
}

TEST_F(Meeting, OtherJobAtThePort) {
  Launch other = launch(0, 2);
  other.job = "other";
  Process zero([&] {
    auto bootstrap = Bootstrap::connect(other, 12s);
    return bootstrap.status().message();
  });
  Process one = start(1, 2, exchange, 8s);
  EXPECT_THAT(one.finish(),
              HasSubstr("the store there is of another job (job \\\"other\\\" "
                        "start 0 of 2 ranks, not job \\\"test/job\\\" start 0 "
                        "of 2 ranks)"));
}

/// Something else than a store listens on the first port: the next is taken.
TEST_F(Meeting, PortThatIsTaken) {
  const int taken = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  ASSERT_EQ(
      ::bind(taken, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(taken, 4), 0);
  Process only = start(0, 2, exchange, 1s);
  EXPECT_THAT(only.finish(),
              HasSubstr("another job may use the port: name a free one"));
  const auto wide = [&](int rank) {
    return Process([&, rank] {
      Launch several = launch(rank, 2);
      several.meeting.ports = 4;
      auto bootstrap = Bootstrap::connect(several, 20s);
      return bootstrap.ok() ? exchange(**bootstrap)
                            : bootstrap.status().toString();
    });
  };
  Process zero = wide(0), one = wide(1);
  EXPECT_THAT(zero.finish(), HasSubstr("0 of 2 local 0 of 2"));
  EXPECT_THAT(one.finish(), HasSubstr("1 of 2 local 1 of 2"));
  ::close(taken);
}

TEST_F(Meeting, UnknownHost) {
  Launch unknown = launch(1, 2);
  unknown.meeting.host = "no-such-host.invalid";
  const auto bootstrap = Bootstrap::connect(unknown, 100ms);
  EXPECT_THAT(bootstrap.status().message(),
              HasSubstr("cannot find host no-such-host.invalid"));
}

TEST(Bootstrap, OneRankMeetsItself) {
  auto bootstrap = Bootstrap::connect(Launch(), 1s);
  ASSERT_TRUE(bootstrap.ok());
  EXPECT_EQ((*bootstrap)->launch().localRank, 0);
  EXPECT_EQ((*bootstrap)->launch().localWorld, 1);
  EXPECT_EQ(*(*bootstrap)->broadcast("a", "b", 1s), "b");
}

} // namespace
} // namespace weft::runtime
