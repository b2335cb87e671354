//===- PreemptionTest.cpp - A job stops after the same step everywhere ----===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "weft/runtime/Preemption.h"
#include "Processes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <thread>

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Job : testing::Test {
  using Steps = std::function<std::string(Preemption &, Bootstrap &)>;

  /// A process that does `steps`.
  Process start(int rank, int world, const Steps &steps) const {
    return Process([&]() -> std::string {
      Launch launch;
      launch.rank = rank;
      launch.world = world;
      launch.job = "test/job";
      launch.meeting = {"127.0.0.1", port, 1};
      auto connected = Bootstrap::connect(launch, 20s);
      if (!connected.ok())
        return connected.status().toString();
      const std::shared_ptr<Bootstrap> bootstrap = *std::move(connected);
      auto preemption = Preemption::create(bootstrap, 2s);
      return preemption.ok() ? steps(**preemption, *bootstrap)
                             : preemption.status().toString();
    });
  }

  const uint16_t port = freePort();
};

/// Makes steps in which all ranks meet, as a collective makes them, until the
/// sync point; rank `asking` asks in one of them. How many there were.
Job::Steps stepsOf(int asking, int64_t askedIn, int64_t most = 1000) {
  return [=](Preemption &preemption, Bootstrap &bootstrap) -> std::string {
    for (int64_t done = 1; done <= most; ++done) {
      if (const Status met = bootstrap.barrier("a step", 20s); !met.ok())
        return met.toString();
      if (bootstrap.launch().rank == asking && done == askedIn)
        preemption.request();
      // Some are later than others.
      std::this_thread::sleep_for(5ms * bootstrap.launch().rank);
      const auto isReached = preemption.reachedSyncPoint(done);
      if (!isReached.ok())
        return isReached.status().toString();
      if (*isReached)
        return fmt::format("stopped after {}", done);
    }
    return "all steps";
  };
}

TEST_F(Job, StopsAfterTheSameStep) {
  for (const int asking : {0, 2}) {
    std::vector<Process> ranks;
    for (int r = 0; r < 3; ++r)
      ranks.push_back(start(r, 3, stepsOf(asking, 5)));
    const std::string first = ranks[0].finish();
    EXPECT_THAT(first, HasSubstr("stopped after "));
    EXPECT_EQ(ranks[1].finish(), first);
    EXPECT_EQ(ranks[2].finish(), first);
  }
}

TEST_F(Job, AllAskAtOnce) {
  const auto steps = [](Preemption &preemption, Bootstrap &bootstrap) {
    preemption.request();
    return stepsOf(-1, 0)(preemption, bootstrap);
  };
  Process zero = start(0, 2, steps), one = start(1, 2, steps);
  const std::string first = zero.finish();
  EXPECT_THAT(first, HasSubstr("stopped after "));
  EXPECT_EQ(one.finish(), first);
}

TEST_F(Job, GoesOnWhenOneHasMadeAllSteps) {
  const auto few = [](Preemption &preemption, Bootstrap &) {
    (void)preemption.reachedSyncPoint(3);
    return std::string("done");
  };
  const auto last = [](Preemption &preemption, Bootstrap &) -> std::string {
    std::this_thread::sleep_for(300ms);
    preemption.request();
    for (int64_t done = 1; done <= 3; ++done) {
      std::this_thread::sleep_for(300ms);
      const auto isReached = preemption.reachedSyncPoint(done);
      if (!isReached.ok() || *isReached)
        return "stopped " + isReached.status().toString();
    }
    return "done";
  };
  Process zero = start(0, 2, last), one = start(1, 2, few);
  EXPECT_EQ(one.finish(), "done");
  EXPECT_EQ(zero.finish(), "done");
}

std::string askAndWait(Preemption &preemption, Bootstrap &) {
  preemption.request();
  for (int64_t done = 1; done < 1000; ++done) {
    std::this_thread::sleep_for(10ms);
    const auto isReached = preemption.reachedSyncPoint(done);
    if (!isReached.ok() || *isReached)
      return isReached.status().toString();
  }
  return "went on";
}

TEST_F(Job, NamesAProcessThatHasEnded) {
  // Not _exit: with the thread sanitizer other threads go on in it for a
  // second, and the one of Preemption answers.
  Process zero = start(0, 2, askAndWait), one = start(1, 2, [](auto &, auto &) {
                                            ::raise(SIGKILL);
                                            return std::string();
                                          });
  EXPECT_EQ(zero.finish(),
            "unavailable: process 1 ended before it had stopped");
}

TEST_F(Job, NamesAProcessThatSaysNothing) {
  Process zero = start(0, 2, [](Preemption &preemption, Bootstrap &bootstrap) {
    (void)bootstrap.barrier("the stop", 20s);
    std::this_thread::sleep_for(300ms);
    return askAndWait(preemption, bootstrap);
  });
  Process one = start(1, 2, [](Preemption &, Bootstrap &bootstrap) {
    (void)bootstrap.barrier("the stop", 20s);
    ::raise(SIGSTOP);
    return std::string();
  });
  EXPECT_EQ(zero.finish(), "deadline_exceeded: process 1 did not say within 2 "
                           "s which step it is in");
  one.kill(SIGCONT);
}

TEST(Preemption, OfAProcessThatIsAlone) {
  const auto preemption = Preemption::create(nullptr, 1s);
  ASSERT_TRUE(preemption.ok());
  EXPECT_FALSE(*(*preemption)->reachedSyncPoint(1));
  (*preemption)->request();
  EXPECT_TRUE(*(*preemption)->reachedSyncPoint(2));
}

} // namespace
} // namespace weft::runtime
