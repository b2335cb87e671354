//===- NcclWorldTest.cpp - Worlds that come and go --------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclJob.h"
#include "OvertakingPlan.h"
#include "PipelinePlan.h"
#include "SamplePlan.h"
#include "cuda/nccl/NcclEnvironment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

/// The all_reduce of SamplePlan's train_step.
struct SampleReduce {
  explicit SampleReduce(NcclRank &rank)
      : rank(rank), values(16, static_cast<float>(rank.rank + 1)), sums(16) {
    collective.kind = plan::CollectiveKind::AllReduce;
    collective.source = values.data();
    collective.destination = sums.data();
    collective.inner = 16;
    collective.instruction = 1;
    collective.cause = "gradient of w, summed over data";
  }
  Status enqueue() {
    return rank.world.communicator(rank.rank, 0, 0)
        ->enqueue(collective, hostStream());
  }
  Status run() {
    return rank.run(1, [&] { return enqueue(); });
  }

  NcclRank &rank;
  std::vector<float> values, sums;
  DeviceCollective collective;
};

std::string reduceOnce(NcclRank &rank) {
  return SampleReduce(rank).run().toString();
}

struct NcclWorldTest : NcclJob {};

TEST_F(NcclWorldTest, ReducesFromRunToRun) {
  const Plan plan = SamplePlan(3).build();
  const auto texts = startAll(3, plan, [](NcclRank &rank) -> std::string {
    SampleReduce reduce(rank);
    for (int run = 0; run < 5; ++run) {
      if (Status status = reduce.run(); !status.ok())
        return status.message();
      if (reduce.sums != std::vector<float>(16, 6.0f))
        return "wrong sums";
    }
    return rank.world.barrier(rank.rank).ok() ? "ok" : "no barrier";
  });
  EXPECT_THAT(texts, AllOf(SizeIs(3), Each("ok")));
}

TEST_F(NcclWorldTest, RegistersTheArena) {
  options.registerArena = true;
  const Plan plan = SamplePlan(2).build();
  EXPECT_THAT(startAll(2, plan, reduceOnce), Each("ok"));
}

/// As windows, or each for itself where the order of sums must stay.
TEST_F(NcclWorldTest, RegistersTheArenaInDeterministicRuns) {
  options.registerArena = options.deterministic = true;
  const Plan plan = SamplePlan(2).build();
  EXPECT_THAT(startAll(2, plan, reduceOnce), Each("ok"));
}

/// Then nobody registers.
TEST_F(NcclWorldTest, ArenaThatNcclDoesNotAllocate) {
  options.registerArena = true;
  fault = "no-memory@1";
  const Plan plan = SamplePlan(2).build();
  const auto texts = startAll(2, plan, reduceOnce);
  EXPECT_THAT(texts,
              ElementsAre("weft: note: the arena is not registered with NCCL: "
                          "ncclMemAlloc of 64 bytes: unhandled cuda error on "
                          "rank 1\nok",
                          "ok"));
}

TEST_F(NcclWorldTest, ArenaOfAnAllocatorThatIsSwitchedOff) {
  options.registerArena = true;
  const Plan plan = SamplePlan(2).build();
  ::setenv("NCCL_CUMEM_ENABLE", "0", 1);
  const auto texts = startAll(2, plan, reduceOnce);
  ::unsetenv("NCCL_CUMEM_ENABLE");
  EXPECT_EQ(texts[0], "weft: note: the arena is not registered with NCCL: "
                      "NCCL_CUMEM_ENABLE is 0 on rank 0\nok");
}

TEST_F(NcclWorldTest, QueuesThatADeviceHasNoRoomFor) {
  const auto use = [](NcclRank &) -> std::string { return "ok"; };
  EXPECT_THAT(
      startAll(2, PipelinePlan(2, 2).build(), use),
      Each(HasSubstr(
          "creating the communicators of NCCL: a rank's queues of "
          "collectives (1) and of messages (3) take a multiprocessor of its "
          "device each while they wait, but that has 4; use a schedule with "
          "fewer stages on a rank")));
}

TEST_F(NcclWorldTest, OneRankNeedsNoGroup) {
  const Plan plan = SamplePlan(1).build();
  EXPECT_THAT(startAll(1, plan,
                       [](NcclRank &rank) -> std::string {
                         SampleReduce reduce(rank);
                         const Status status = reduce.run();
                         return reduce.sums == reduce.values ? status.toString()
                                                             : "wrong";
                       }),
              ElementsAre("ok"));
}

TEST_F(NcclWorldTest, PlanForOtherRanks) {
  const Plan plan = SamplePlan(3).build();
  EXPECT_THAT(
      startAll(2, plan, [](NcclRank &) { return "ok"; }),
      Each("failed_precondition: the plan is for 3 ranks, the test started 2; "
           "start one process a rank"));
}

/// N1, N22: before the first collective.
TEST_F(NcclWorldTest, OtherPlanAndOtherLibrary) {
  fault = "version@1";
  SamplePlan other(2);
  other.table.producer = "another compiler";
  const Plan plans[] = {SamplePlan(2).build(), other.build()};
  const auto ok = [](NcclRank &) { return "ok"; };
  Process zero = start(0, 2, plans[0], ok), one = start(1, 2, plans[1], ok);
  const std::string expected = fmt::format(
      "failed_precondition: the ranks differ in the plan (its hash): rank 0 "
      "has {:016x}, rank 1 has {:016x}; in the version of NCCL: rank 0 has "
      "2.28.9, rank 1 has 2.27.3",
      plans[0].hash(), plans[1].hash());
  EXPECT_EQ(zero.finish(), expected);
  EXPECT_EQ(one.finish(), expected);
}

/// N20: variables that change what NCCL computes are the same everywhere.
TEST_F(NcclWorldTest, OtherVariables) {
  const Plan plan = SamplePlan(2).build();
  const auto ok = [](NcclRank &) { return "ok"; };
  Process zero = start(0, 2, plan, ok);
  options.deterministic = true;
  Process one = start(1, 2, plan, ok);
  EXPECT_THAT(
      zero.finish(),
      AllOf(HasSubstr("the variable NCCL_ALGO: rank 0 has none, rank 1 has "
                      "Ring"),
            HasSubstr("the variable NCCL_NVLS_ENABLE: rank 0 has none, rank 1 "
                      "has 0")));
  (void)one.finish();
}

TEST_F(NcclWorldTest, DeterministicRuns) {
  options.deterministic = true;
  const Plan plan = SamplePlan(2).build();
  EXPECT_THAT(startAll(2, plan,
                       [](NcclRank &rank) {
                         return std::string(::getenv("NCCL_PROTO")) + " " +
                                reduceOnce(rank);
                       }),
              Each("Simple ok"));
}

/// N4, N5.
TEST_F(NcclWorldTest, OtherThread) {
  const Plan plan = SamplePlan(2).build();
  EXPECT_THAT(
      startAll(2, plan,
               [](NcclRank &rank) {
                 SampleReduce reduce(rank);
                 std::string text;
                 std::thread([&] { text = reduce.enqueue().message(); }).join();
                 return text;
               }),
      Each("NCCL is called by another thread than the one that made "
           "its communicators"));
}

/// N12.
TEST_F(NcclWorldTest, CaptureNeedsARunBefore) {
  const Plan plan = SamplePlan(2).build();
  const auto texts = startAll(2, plan, [](NcclRank &rank) {
    SampleReduce reduce(rank);
    setHostStreamCapturing(true);
    std::string text = reduce.run().message();
    setHostStreamCapturing(false);
    text += " | " + reduce.run().toString();
    setHostStreamCapturing(true);
    text += " | " + reduce.run().toString();
    dropHostGraphs();
    return text;
  });
  EXPECT_THAT(texts,
              Each(AllOf(StartsWith("step 1 all_reduce on rank "),
                         HasSubstr(": a collective is captured in a graph "
                                   "before it has run once: NCCL connects "
                                   "ranks in their first call, which no graph "
                                   "can hold (gradient of w, summed over "
                                   "data) | ok | ok"))));
}

/// N13: never beside each other.
TEST_F(NcclWorldTest, CapturedAndPlainInOneRun) {
  const Plan plan = SamplePlan(2).build();
  const auto texts = startAll(2, plan, [](NcclRank &rank) {
    SampleReduce first(rank), second(rank);
    std::string text = first.run().toString() + second.run().toString();
    const Status mixed = rank.run(1, [&]() -> Status {
      setHostStreamCapturing(true);
      WEFT_RETURN_IF_ERROR(first.enqueue());
      setHostStreamCapturing(false);
      return second.enqueue();
    });
    // What was captured runs at once, and this run did not wait for it.
    while (!isHostStreamIdle())
      std::this_thread::sleep_for(1ms);
    text += " | " + mixed.message() + " | " + second.run().toString();
    dropHostGraphs();
    return text;
  });
  EXPECT_THAT(texts, Each(AllOf(StartsWith("okok | step 1 all_reduce on rank "),
                                HasSubstr(": a run has collectives that are "
                                          "captured in a graph and others that "
                                          "are not (gradient of w, summed over "
                                          "data) | ok"))));
}

/// NCCL would wait for the graph for ever.
TEST_F(NcclWorldTest, GraphThatOutlivesItsCommunicator) {
  const Plan plan = SamplePlan(2).build();
  const auto texts = startAll(2, plan, [](NcclRank &rank) -> std::string {
    SampleReduce reduce(rank);
    if (Status status = reduce.run(); !status.ok())
      return status.message();
    setHostStreamCapturing(true);
    return reduce.run().toString();
  });
  EXPECT_THAT(texts, Each(HasSubstr("ncclCommFinalize: invalid usage")));
}

/// The first two collectives of OvertakingPlan, on one rank.
struct Overtaking {
  explicit Overtaking(NcclRank &rank)
      : rank(rank), values(16, static_cast<float>(rank.rank + 1)) {}

  /// Starts both and returns true when the later one is there, which it is
  /// before the earlier one if that never comes.
  bool urgentComes() {
    for (uint32_t id : {0, 1}) {
      DeviceCollective &collective = collectives[id];
      collective.source = values.data();
      collective.destination = sums[id].data();
      collective.inner = 16;
      collective.instruction = id;
      collective.queue = rank.world.queues().of(0, id);
      if (!rank.world.communicator(rank.rank, 0, collective.queue)
               ->enqueue(collective, hostStream(collective.queue))
               .ok())
        return false;
    }
    // A word of its own, which the device writes whole.
    (void)hostDevice().memcpyAsync(&urgent, &sums[1].back(), sizeof urgent,
                                   cudaMemcpyDeviceToHost,
                                   hostStream(collectives[1].queue));
    const auto end = std::chrono::steady_clock::now() + 5s;
    while (std::chrono::steady_clock::now() < end)
      if (std::atomic_ref<float>(urgent).load() == 3.0f)
        return true;
      else
        std::this_thread::sleep_for(1ms);
    return false;
  }

  NcclRank &rank;
  std::vector<float> values;
  std::vector<float> sums[2] = {std::vector<float>(16), std::vector<float>(16)};
  float urgent = 0;
  DeviceCollective collectives[2];
};

TEST_F(NcclWorldTest, CollectiveOvertakesAnother) {
  fault = "late@1:1";
  const Plan plan = OvertakingPlan(2).build();
  const auto texts = startAll(2, plan, [](NcclRank &rank) -> std::string {
    Overtaking both(rank);
    rank.world.beginRun(rank.rank, 0);
    const bool comes = both.urgentComes();
    rank.world.abort(internalError("the end"));
    // What is on the other stream looks at what is on this one's stack.
    rank.world.detach(rank.rank);
    while (!isHostStreamIdle())
      std::this_thread::sleep_for(1ms);
    // Not before: until then the earlier one may write here.
    const bool isBehind = both.sums[0].back() != 3.0f;
    return comes && isBehind ? "overtook" : "waited";
  });
  EXPECT_THAT(texts, Each("overtook"));
}

/// N2.
TEST_F(NcclWorldTest, SerializedCollectivesShareAQueue) {
  options.serializeCollectives = true;
  const Plan plan = OvertakingPlan(2).build();
  const auto texts = startAll(2, plan, [](NcclRank &rank) -> std::string {
    Overtaking both(rank);
    const Status status = rank.run(0, [&]() -> Status {
      return both.urgentComes() ? Status() : internalError("it did not come");
    });
    return status.ok() && !rank.world.communicator(rank.rank, 0, 1)
               ? fmt::format("{} queue, {}", rank.world.queues().count(),
                             both.sums[0].back())
               : status.message();
  });
  EXPECT_THAT(texts, Each("1 queue, 3"));
}

TEST_F(NcclWorldTest, OneRankSerializesItsCollectives) {
  const Plan plan = OvertakingPlan(2).build();
  const auto ok = [](NcclRank &) { return "ok"; };
  Process zero = start(0, 2, plan, ok);
  options.serializeCollectives = true;
  Process one = start(1, 2, plan, ok);
  EXPECT_THAT(zero.finish(),
              HasSubstr("whether collectives are serialized: rank 0 has no, "
                        "rank 1 has yes"));
  (void)one.finish();
}

/// N11: no rank may capture what another one runs step by step.
TEST_F(NcclWorldTest, OneRankHasNoGraphs) {
  const Plan plan = SamplePlan(2).build();
  const auto ok = [](NcclRank &) { return "ok"; };
  Process zero = start(0, 2, plan, ok);
  options.cudaGraphs = false;
  options.traceRuns = 2;
  Process one = start(1, 2, plan, ok);
  EXPECT_THAT(
      zero.finish(),
      AllOf(HasSubstr("whether runs become graphs: rank 0 has yes, rank 1 has "
                      "no"),
            HasSubstr("the number of runs that are traced: rank 0 has 0, rank "
                      "1 has 2")));
  (void)one.finish();
}

/// N14: a wrong argument leaves the communicator as it was.
TEST_F(NcclWorldTest, RefusedCallIsNotFinal) {
  fault = "refuse@1:1";
  const Plan plan = SamplePlan(2).build();
  const auto use = [](NcclRank &rank) {
    SampleReduce reduce(rank);
    const Status first = rank.rank == 1 ? reduce.run() : Status();
    return first.toString() + " | " + reduce.run().toString();
  };
  const auto texts = startAll(2, plan, use);
  EXPECT_EQ(texts[0], "ok | ok");
  EXPECT_EQ(texts[1],
            "invalid_argument: step 1 all_reduce on rank 1: ncclAllReduce: "
            "invalid argument: refused on demand; NCCL_DEBUG=INFO prints more "
            "(gradient of w, summed over data) | ok");
}

/// N14: no communicator survives that of a group.
TEST_F(NcclWorldTest, RefusedGroupIsFinal) {
  fault = "refuse@1:1";
  const Plan plan = SamplePlan(2).build();
  const auto texts = startAll(2, plan, [](NcclRank &rank) -> std::string {
    SampleReduce exchange(rank);
    exchange.collective.kind = plan::CollectiveKind::Permute;
    exchange.collective.sendTo = exchange.collective.receiveFrom =
        1 - rank.rank;
    if (rank.rank == 0)
      return "";
    const Status first = exchange.run();
    rank.world.abort(first); // as a session does, so that nobody waits for it
    return first.message() + " | " + exchange.run().message();
  });
  const std::string reason =
      "ncclGroupEnd: invalid argument: refused on demand; NCCL_DEBUG=INFO "
      "prints more";
  EXPECT_EQ(texts[1], "step 1 permute on rank 1: " + reason +
                          " (gradient of w, summed over data) | " + reason);
}

TEST(NcclTypes, OfPlans) {
  EXPECT_EQ(ncclTypeOf(DType::Pred), ncclUint8);
  EXPECT_EQ(ncclTypeOf(DType::BF16), ncclBfloat16);
  // Moved as it is; plans reduce it as I32.
  EXPECT_EQ(ncclTypeOf(DType::I16), ncclFloat16);
  EXPECT_EQ(ncclReductionOf(Reduction::Min), ncclMin);
}

/// N24.
TEST(NcclEnvironment, UnlimitedStackIsWarnedOf) {
  Process process([]() -> std::string {
    rlimit stack{};
    ::getrlimit(RLIMIT_STACK, &stack);
    stack.rlim_cur = 8 << 20;
    ::setrlimit(RLIMIT_STACK, &stack);
    std::string text;
    for (const std::string &warning :
         ncclMachineWarnings(NcclMachine::ofThisProcess()))
      text += warning;
    if (text.find("stack") != std::string::npos)
      return "warned of 8 MB";
    if (stack.rlim_max != RLIM_INFINITY)
      return "the stack of this process is unlimited"; // cannot be raised here
    stack.rlim_cur = RLIM_INFINITY;
    ::setrlimit(RLIMIT_STACK, &stack);
    for (const std::string &warning :
         ncclMachineWarnings(NcclMachine::ofThisProcess()))
      text += warning;
    return text;
  });
  EXPECT_THAT(process.finish(),
              HasSubstr("the stack of this process is unlimited"));
}

/// N23.
TEST(NcclEnvironment, SmallSharedAndLockedMemoryIsWarnedOf) {
  NcclMachine machine;
  EXPECT_THAT(ncclMachineWarnings(machine), IsEmpty());
  machine.sharedMemory = machine.lockedMemory = 64 << 20;
  EXPECT_THAT(
      ncclMachineWarnings(machine),
      ElementsAre("/dev/shm has 64 MB free; ranks of one host exchange data "
                  "through it and may fail; start the container with "
                  "--shm-size=1g"));
  machine.hasInfiniBand = true;
  machine.sharedMemory.reset();
  EXPECT_THAT(ncclMachineWarnings(machine),
              ElementsAre("this process may lock 64 MB of memory (ulimit -l); "
                          "InfiniBand locks what it sends from and may fail; "
                          "start the container with --ulimit memlock=-1"));
  machine.lockedMemory.reset();
  EXPECT_THAT(ncclMachineWarnings(machine), IsEmpty());
}

TEST(NcclEnvironment, MachineOfThisProcess) {
  const NcclMachine machine = NcclMachine::ofThisProcess();
  rlimit locked{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &locked), 0);
  EXPECT_EQ(machine.lockedMemory.has_value(), locked.rlim_cur != RLIM_INFINITY);
  EXPECT_EQ(machine.sharedMemory.has_value(),
            std::filesystem::exists("/dev/shm"));
}

/// N2, N3, N21.
TEST(NcclEnvironment, OrderOfLaunches) {
  Process process([]() -> std::string {
    ::setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "0", 1);
    setNcclEnvironment(false);
    return std::string(::getenv("NCCL_LAUNCH_ORDER_IMPLICIT")) +
           ::getenv("NCCL_LAUNCH_RACE_FATAL") +
           (::getenv("NCCL_PROTO") ? "set" : "");
  });
  EXPECT_EQ(process.finish(), "11");
}

} // namespace
} // namespace weft::runtime
