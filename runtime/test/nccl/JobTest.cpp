//===- JobTest.cpp - shard-run as several processes -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hand-written plans for "cuda", run by one process a rank on devices in
// software and the fake NCCL, against the same plans for "cpu" in one process.
//
// With WEFT_TEST_GPU all processes share the first GPU, and NCCL is the real
// one, which takes them for hosts of their own:
//
//   WEFT_TEST_GPU=1 weft_job_test --gtest_filter='Ranks/JobOfRanks.*'
//
//===----------------------------------------------------------------------===//

#include "CollectivePlan.h"
#include "CudaPlan.h"
#include "OvertakingPlan.h"
#include "PipelinePlan.h"
#include "SamplePlan.h"
#include "io/ScratchDirectory.h"
#include "launch/Processes.h"
#include "weft/runtime/Npy.h"

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace weft::runtime {

namespace embedded {
extern const std::string_view JobKernels;
} // namespace embedded

namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

struct Job : ScratchDirectory {
  Job() { (void)writeNpy(file("x.npy"), countingArray({64}, 0.25f)); }

  std::string writePlan(const std::string &name, const PlanBuilder &builder) {
    const auto bytes = builder.bytes();
    return store(name,
                 {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  }
  std::string cpuPlan(int ranks) {
    return writePlan("cpu.plan", SamplePlan(ranks));
  }
  std::string cudaPlan(int ranks) {
    SamplePlan sample(ranks);
    makeCudaPlan(sample, std::string(embedded::JobKernels));
    return writePlan("cuda.plan", sample);
  }
  /// What all runs do, and write to files with this name.
  std::string common(int ranks, const std::string &name) {
    (void)writeNpy(file("x.npy"), countingArray({16 * ranks}, 0.25f));
    return fmt::format(" --init init --steps 6 --input x={} --metrics {} "
                       "--save {} --output loss={}",
                       file("x.npy"), file(name + ".csv"),
                       file(name + ".safetensors"), file(name + ".npy"));
  }
  /// A process that runs the command; its text ends with its exit status.
  static Process start(const std::string &command) {
    return Process([command] {
      std::string text;
      std::FILE *pipe = ::popen((command + " 2>&1").c_str(), "r");
      for (int c; (c = std::fgetc(pipe)) != EOF;)
        text.push_back(static_cast<char>(c));
      return fmt::format("{}status {}", text, WEXITSTATUS(::pclose(pipe)));
    });
  }
  std::vector<std::string>
  runAll(int ranks, const std::function<std::string(int)> &command) {
    std::vector<Process> processes;
    for (int r = 0; r < ranks; ++r)
      processes.push_back(start(command(r)));
    std::vector<std::string> texts;
    for (Process &process : processes)
      texts.push_back(process.finish());
    return texts;
  }
  std::string variables(int rank, int world,
                        const std::string &others = "") const {
    return fmt::format(
        "env {} RANK={} WORLD_SIZE={} LOCAL_RANK={} "
        "MASTER_ADDR=127.0.0.1 MASTER_PORT={} TMPDIR={} {} " WEFT_SHARD_RUN " ",
        libraries(rank), rank, world, rank, port, directory.string(), others);
  }
  static std::string libraries(int rank) {
    if (!std::getenv("WEFT_TEST_GPU"))
      return "WEFT_CUDA_LIBRARIES=" WEFT_TEST_LIBRARIES;
    return fmt::format("CUDA_VISIBLE_DEVICES=0 NCCL_HOSTID=weft-rank-{} "
                       "NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1",
                       rank);
  }
  /// Runs both plans five times, which is before, in and after the capture of a
  /// graph, and compares all outputs of the last run and the scalars of all.
  void expectEqualOutputs(PlanBuilder host, PlanBuilder device, int ranks,
                          const std::string &inputs,
                          const std::string &deviceOptions = "",
                          const std::string &others = "");

  const uint16_t port = freePort();
};

void Job::expectEqualOutputs(PlanBuilder host, PlanBuilder device, int ranks,
                             const std::string &inputs,
                             const std::string &deviceOptions,
                             const std::string &others) {
  const std::string cpu = writePlan("cpu.plan", host);
  makeCudaPlan(device, std::string(embedded::JobKernels));
  const std::string cuda = writePlan("cuda.plan", device);
  const auto &outputs = host.table.entries[0]->outputs;
  const auto common = [&](const std::string &folder) {
    std::filesystem::create_directories(file(folder));
    std::string text = fmt::format(" --steps 5 --quiet --metrics {}{}",
                                   file(folder + "/metrics.csv"), inputs);
    for (const auto &output : outputs)
      text += fmt::format(" --output {}={}", output->name,
                          file(folder + "/" + output->name + ".npy"));
    return text;
  };
  ASSERT_EQ(start(WEFT_SHARD_RUN " " + cpu + common("cpu")).finish(),
            "status 0");
  const auto texts = runAll(ranks, [&](int rank) {
    return variables(rank, ranks, others) + cuda + common("cuda") +
           deviceOptions;
  });
  for (const std::string &text : texts)
    ASSERT_EQ(text, "status 0");
  for (const auto &output : outputs)
    EXPECT_EQ(load("cuda/" + output->name + ".npy"),
              load("cpu/" + output->name + ".npy"))
        << output->name << others << inputs;
  EXPECT_EQ(load("cuda/metrics.csv"), load("cpu/metrics.csv"))
      << others << inputs;
}

struct JobOfRanks : Job, testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, JobOfRanks, testing::Values(2, 4));

/// Before, in and after the capture of a graph.
TEST_P(JobOfRanks, HasTheBitsOfOneProcess) {
  const int ranks = GetParam();
  EXPECT_THAT(start(WEFT_SHARD_RUN " " + cpuPlan(ranks) + common(ranks, "cpu"))
                  .finish(),
              EndsWith("status 0"));
  const std::string plan = cudaPlan(ranks);
  const auto texts = runAll(ranks, [&](int rank) {
    return variables(rank, ranks) + plan + common(ranks, "cuda");
  });
  EXPECT_THAT(texts[0],
              AllOf(HasSubstr("step 6/6 loss "), EndsWith("status 0")));
  for (int r = 1; r < ranks; ++r)
    EXPECT_EQ(texts[r], "status 0");
  EXPECT_EQ(load("cuda.csv"), load("cpu.csv"));
  EXPECT_EQ(load("cuda.npy"), load("cpu.npy"));
  // The header names the plan, the values follow it.
  const std::string cpu = load("cpu.safetensors"),
                    cuda = load("cuda.safetensors");
  ASSERT_EQ(cuda.size(), cpu.size());
  EXPECT_EQ(cuda.substr(cuda.size() - 64), cpu.substr(cpu.size() - 64));
}

/// In two queues and in one. Seeds decide what happens early and late among all
/// that events leave open: one that is missing spoils bits in some run, and a
/// capture besides.
TEST_P(JobOfRanks, WhatOvertakesChangesNoBits) {
  const int ranks = GetParam();
  (void)writeNpy(file("x.npy"), countingArray({16 * ranks}, 0.25f));
  (void)writeNpy(file("b.npy"), countingArray({16}, 0.5f));
  const std::string inputs =
      fmt::format(" --input x={} --input b={}", file("x.npy"), file("b.npy"));
  for (const char *option :
       {" --no-cuda-graphs", "", " --serialize-collectives"})
    for (int seed : {1, 2, 3})
      expectEqualOutputs(OvertakingPlan(ranks), OvertakingPlan(ranks), ranks,
                         inputs, option,
                         fmt::format("WEFT_EMULATOR_SEED={}", seed));
}

/// Before, in and after the capture of a graph, in two roles, with a group in
/// each where there are four ranks.
TEST_P(JobOfRanks, APipelineHasTheBitsOfOneProcess) {
  const int ranks = GetParam(), data = ranks / 2;
  const std::string cpu = writePlan("cpu.plan", PipelinePlan(2, 3, data));
  std::string inputs = " --entry step --steps 5 --quiet";
  const auto input = [&](const std::string &name, const Array &value) {
    (void)writeNpy(file(name + ".npy"), value);
    inputs += fmt::format(" --input {}={}", name, file(name + ".npy"));
  };
  input("x", countingArray({3, 16 * data}, 0.25f));
  input("w0", countingArray({16}, 0.5f));
  input("w1", countingArray({16}, 2));
  input("t", countingArray({16}, 3));
  const auto outputs = [&](const std::string &folder) {
    std::filesystem::create_directories(file(folder));
    std::string text = inputs;
    for (const char *name : {"out", "loss", "w0", "w1", "t"})
      text += fmt::format(" --output {}={}", name,
                          file(fmt::format("{}/{}.npy", folder, name)));
    return text;
  };
  ASSERT_EQ(start(WEFT_SHARD_RUN " " + cpu + outputs("cpu")).finish(),
            "status 0");
  for (Reductions reductions : {Reductions::InUpdate, Reductions::Early}) {
    PipelinePlan device(2, 3, data, Receives::WhenSent, reductions);
    makeCudaPlan(device, std::string(embedded::JobKernels));
    const std::string cuda = writePlan("cuda.plan", device);
    for (const char *option : {"", " --no-cuda-graphs", " --register-arena"})
      for (int seed : {1, 2, 3}) {
        const auto texts = runAll(ranks, [&](int rank) {
          return variables(rank, ranks,
                           fmt::format("WEFT_EMULATOR_SEED={}", seed)) +
                 cuda + outputs("cuda") + option;
        });
        for (const std::string &text : texts)
          ASSERT_EQ(text, "status 0");
        for (const char *name : {"out", "loss", "w0", "w1", "t"})
          EXPECT_EQ(load(fmt::format("cuda/{}.npy", name)),
                    load(fmt::format("cpu/{}.npy", name)))
              << name << option << " seed " << seed;
      }
  }
}

/// More than NCCL plans at once, which could divide them differently at the two
/// ends.
TEST_F(Job, AMessageOfManyValues) {
  PipelinePlan device(2, 3, 1, Receives::WhenSent);
  plan::TimelineT &timeline = *device.table.entries.back()->timeline;
  plan::MessageT &message = *timeline.messages.front();
  const auto forward =
      std::ranges::find(device.table.entries, "forward0", &plan::EntryT::name);
  EntryBuilder first(device, forward - device.table.entries.begin());
  for (int i = 0; i < 300; ++i) {
    for (uint32_t role : {0, 1}) {
      const std::string name = fmt::format("value {}", i);
      device.state(name, device.type(DType::F32, {16}),
                   {.role = role, .slots = 3, .isInternal = true});
      (role == 0 ? message.source_states : message.destination_states)
          .push_back(device.stateIndex(name, role));
    }
    first.launch(
        "fill", {{first.state(fmt::format("value {}", i), false, true), write}},
        {{}, {}});
  }
  makeCudaPlan(device, std::string(embedded::JobKernels));
  const std::string plan = writePlan("cuda.plan", device);
  std::string inputs = " --entry step --steps 4 --quiet";
  const auto input = [&](const std::string &name, const Array &value) {
    (void)writeNpy(file(name + ".npy"), value);
    inputs += fmt::format(" --input {}={}", name, file(name + ".npy"));
  };
  input("x", countingArray({3, 16}, 0.25f));
  for (const char *name : {"w0", "w1", "t"})
    input(name, countingArray({16}, 0.5f));
  const auto texts =
      runAll(2, [&](int rank) { return variables(rank, 2) + plan + inputs; });
  for (const std::string &text : texts)
    EXPECT_EQ(text, "status 0");
}

/// The device of rank 0 hangs when it reduces gradients, before it sends what
/// the other role waits for.
TEST_F(Job, AMessageThatDoesNotComeIsNamed) {
  PipelinePlan device(2, 3, 2, Receives::WhenSent);
  makeCudaPlan(device, std::string(embedded::JobKernels));
  const std::string plan = writePlan("cuda.plan", device);
  std::string inputs = " --entry step --steps 2 --quiet --deadline 1";
  const auto input = [&](const std::string &name, const Array &value) {
    (void)writeNpy(file(name + ".npy"), value);
    inputs += fmt::format(" --input {}={}", name, file(name + ".npy"));
  };
  input("x", countingArray({3, 32}, 0.25f));
  for (const char *name : {"w0", "w1", "t"})
    input(name, countingArray({16}, 0.5f));
  // Behind three connections, three activations and three gradients.
  const auto texts = runAll(4, [&](int rank) {
    return variables(rank, 4, "WEFT_FAKE_NCCL_FAULT=late@0:10") + plan + inputs;
  });
  for (const std::string &text : texts)
    EXPECT_THAT(
        text,
        AllOf(HasSubstr("role 1 action 14 (micro-batch 0), receive of message "
                        "2 \"tied parameter\" on rank "),
              HasSubstr(" did not arrive within 4 s; rank "),
              HasSubstr(" is in run 1 after the start of role 0 action 13 "
                        "(micro-batch 0), segment \"update0\" step 0 "
                        "all_reduce and role 0 action 9 (micro-batch 2), send "
                        "of message 0 \"activation of stage 0\" and "),
              EndsWith("status 1")));
}

/// Sums are of small integers, which no order rounds.
TEST_P(JobOfRanks, AllCollectivesHaveTheBitsOfOneProcess) {
  const int ranks = GetParam();
  for (DType dtype : {DType::F32, DType::I32})
    for (bool atOnce : {false, true}) {
      const PlanBuilder plan = collectivePlan(dtype, ranks / 2, 2, atOnce);
      Array x(dtype, plan.table.entries[0]->inputs[0]->type->global_shape);
      for (int64_t i = 0; i < x.shape[0]; ++i)
        if (dtype == DType::F32)
          x.as<float>()[i] = static_cast<float>(i * 7 % 11);
        else
          x.as<int32_t>()[i] = static_cast<int32_t>(i * 7 % 11);
      (void)writeNpy(file("x.npy"), x);
      expectEqualOutputs(plan, plan, ranks, " --input x=" + file("x.npy"));
    }
}

/// By NCCL, in two pieces, the second of them smaller.
TEST_F(Job, WhatIsLargeIsGatheredOnTheDevices) {
  PlanBuilder plan({{"data", 2}});
  const auto type = plan.type(DType::F32, {2 * 2'200'003}, {{"data"}});
  EntryBuilder entry = plan.entry("e");
  entry.copy(entry.input("x", type), entry.output("y", type));
  (void)writeNpy(file("x.npy"), countingArray({2 * 2'200'003}, 0.25f));
  expectEqualOutputs(plan, plan, 2, " --input x=" + file("x.npy"));
}

/// Each process writes what its rank holds; resumed on the host.
TEST_F(Job, CheckpointsAreThoseOfOneProcess) {
  const std::string device = cudaPlan(2), host = cpuPlan(2);
  const auto options = [&](const std::string &name, int steps) {
    (void)writeNpy(file("x.npy"), countingArray({32}, 0.25f));
    return fmt::format(" --init init --steps {} --input x={} --checkpoint {} "
                       "--every 3",
                       steps, file("x.npy"), file(name + "-run"));
  };
  for (const std::string &text : runAll(2, [&](int rank) {
         return variables(rank, 2) + device + options("device", 6);
       }))
    EXPECT_THAT(text, HasSubstr("status 0"));
  EXPECT_THAT(start(WEFT_SHARD_RUN " " + host + options("host", 6)).finish(),
              HasSubstr("status 0"));
  for (const char *step : {"3", "6"})
    for (const char *name :
         {"checkpoint.json", "model-00001-of-00001.safetensors"})
      EXPECT_EQ(load(fmt::format("device-run/step-0000000{}/{}", step, name)),
                load(fmt::format("host-run/step-0000000{}/{}", step, name)));
  for (const std::string &text : runAll(2, [&](int rank) {
         return variables(rank, 2) + device + options("device", 8) +
                " --resume";
       }))
    EXPECT_THAT(text, HasSubstr("status 0"));
  EXPECT_THAT(
      start(WEFT_SHARD_RUN " " + host + options("host", 8) + " --resume")
          .finish(),
      HasSubstr("status 0"));
  EXPECT_EQ(load("device-run/step-00000008/checkpoint.json"),
            load("host-run/step-00000008/checkpoint.json"));
}

TEST_F(Job, MeetsWithoutALauncher) {
  const std::string plan = cudaPlan(2);
  const auto texts = runAll(2, [&](int rank) {
    return fmt::format(
        "env WEFT_CUDA_LIBRARIES={} TMPDIR={} " WEFT_SHARD_RUN
        " {}{} --rendezvous tcp://127.0.0.1:{} --rank {} --world 2 "
        "--deterministic --register-arena --quiet",
        WEFT_TEST_LIBRARIES, directory.string(), plan, common(2, "cuda"), port,
        rank);
  });
  EXPECT_EQ(texts[0], "status 0");
  EXPECT_EQ(texts[1], "status 0");
}

/// An emulated device that hangs takes the thread of its rank with it: rank 0
/// is ended by its watchdog.
TEST_F(Job, FailureOfNcclEndsAllProcesses) {
  const std::string plan = cudaPlan(2);
  const auto texts = runAll(2, [&](int rank) {
    return variables(rank, 2, "WEFT_FAKE_NCCL_FAULT=error@1:2") + plan +
           common(2, "cuda") + " --deadline 2";
  });
  for (const std::string &text : texts)
    EXPECT_THAT(text, AllOf(HasSubstr(" error: "),
                            HasSubstr("remote process exited or there was a "
                                      "network error"),
                            EndsWith("status 1")));
}

TEST_F(Job, MissingProcess) {
  const std::string text = start(variables(0, 2) + cudaPlan(2) +
                                 common(2, "cuda") + " --start-deadline 0.5")
                               .finish();
  EXPECT_THAT(text,
              AllOf(HasSubstr("rank 0 waited 500 ms at tcp://127.0.0.1:"),
                    HasSubstr(" for rank 1; rank 0 of 2 arrived (ranks "
                              "and address by the variables of torchrun)"),
                    EndsWith("status 1")));
}

TEST_F(Job, PlanForTheHost) {
  const std::string plan = cpuPlan(2);
  for (const std::string &text : runAll(2, [&](int rank) {
         return variables(rank, 2) + plan + common(2, "cpu");
       }))
    EXPECT_THAT(text,
                AllOf(HasSubstr("the plan is for \"cpu\", whose processes "
                                "communicate over MPI, but the variables of "
                                "torchrun started 2 without it; start them "
                                "with mpirun, srun --mpi=pmix (Open MPI) or "
                                "srun --mpi=pmi2 (MPICH)"),
                      EndsWith("status 2")));
}

TEST_F(Job, AllProblemsAtOnce) {
  EXPECT_THAT(start(WEFT_SHARD_RUN " " + cudaPlan(2) + common(2, "cuda") +
                    " --rendezvous somewhere --rank 2 --world 2 --input y=" +
                    file("x.npy"))
                  .finish(),
              AllOf(HasSubstr("the rendezvous must be tcp://HOST:PORT, got "
                              "\"somewhere\"; rank 2 of 2 processes does not "
                              "exist"),
                    HasSubstr("--input y: neither a state nor an input"),
                    EndsWith("status 2")));
}

/// A cubin that no driver loads.
TEST_F(Job, NotesAreShown) {
  SamplePlan sample(1);
  makeCudaPlan(sample, std::string(embedded::JobKernels));
  sample.table.object.assign(64, 0);
  const uint8_t magic[] = {0x7f, 'E', 'L', 'F', 2, 1};
  std::copy(std::begin(magic), std::end(magic), sample.table.object.begin());
  sample.table.object[18] = 190; // e_machine: CUDA
  sample.table.object[58] = 64;  // e_shentsize
  const std::string command = fmt::format(
      "env WEFT_CUDA_LIBRARIES={} " WEFT_SHARD_RUN " {}{}", WEFT_TEST_LIBRARIES,
      writePlan("cubin.plan", sample), common(1, "cuda"));
  EXPECT_THAT(start(command).finish(),
              AllOf(HasSubstr("shard-run: note: the driver compiled the plan's "
                              "PTX for device 0 (Emulated H200, sm_90)"),
                    EndsWith("status 0")));
  EXPECT_THAT(start(command + " --quiet").finish(),
              Not(HasSubstr("shard-run: note")));
}

TEST_F(Job, ADeviceThatIsLost) {
  const std::string text =
      start(fmt::format("env WEFT_CUDA_LIBRARIES={} "
                        "WEFT_EMULATOR_FAULT=lose@total:5 " WEFT_SHARD_RUN
                        " {}{}",
                        WEFT_TEST_LIBRARIES, cudaPlan(1), common(1, "cuda")))
          .finish();
  EXPECT_THAT(text, AllOf(HasSubstr("shard-run: error: entry \"train_step\" on "
                                    "rank 0: the device has failed in the "
                                    "graph of entry \"train_step\""),
                          EndsWith("status 1")));
}

/// Two GEMMs, of which the second runs beside a collective.
PlanBuilder productPlan(int64_t ranks) {
  PlanBuilder builder({{"data", ranks}});
  const uint32_t data = builder.group({"data"});
  EntryBuilder entry = builder.entry("train_step");
  const uint32_t x = entry.input(
                     "x", builder.type(DType::F32, {16 * ranks}, {{"data"}})),
                 w = entry.constant(countingArray({4, 4})),
                 t = entry.temporary(DType::F32, {4, 4}),
                 y = entry.output("y", builder.type(DType::F32, {4, 4})),
                 z = entry.output(
                     "z", builder.type(DType::F32, {4 * ranks, 4}, {{"data"}}));
  entry.gemm(x, w, t, 4, 4, 4);
  entry.start(plan::CollectiveKind::AllReduce, data, t, y, 1, 16);
  entry.gemm(x, w, z, 4, 4, 4);
  entry.wait(0);
  makeCudaPlan(builder, ".version 8.0\n.target sm_80\n.address_size 64\n");
  return builder;
}

struct JobOfProducts : Job {
  /// Runs two ranks, in the second of which cuBLASLt guesses otherwise; the
  /// last GEMMs that they ran.
  std::vector<std::string> productsOf(const std::string &options) {
    const std::string plan = writePlan("products.plan", productPlan(2));
    (void)writeNpy(file("x.npy"), countingArray({32}));
    const auto texts = runAll(2, [&](int rank) {
      return variables(rank, 2,
                       fmt::format("XDG_CACHE_HOME={0}/cache-{1} "
                                   "WEFT_EMULATOR_PRODUCTS={0}/products-{1} "
                                   "WEFT_EMULATOR_ALGORITHM={1}",
                                   directory.string(), rank)) +
             plan + " --steps 2 --input x=" + file("x.npy") + options;
    });
    for (const std::string &text : texts)
      EXPECT_THAT(text, EndsWith("status 0"));
    std::vector<std::string> last;
    for (const char *name : {"products-0", "products-1"}) {
      std::string text = load(name);
      text.resize(text.empty() ? 0 : text.size() - 1);
      const size_t line = text.rfind('\n');
      last.push_back(text.substr(line == text.npos ? 0 : line + 1));
    }
    return last;
  }
};

TEST_F(JobOfProducts, OneRankMeasuresForAll) {
  const auto last = productsOf("");
  EXPECT_THAT(last[0], HasSubstr("4 x 4 x 4 algorithm "));
  EXPECT_EQ(last[1], last[0]);
}

TEST_F(JobOfProducts, NobodyMeasuresWhatMustBeDeterministic) {
  const auto last = productsOf(" --deterministic");
  EXPECT_EQ(last[0], "4 x 4 x 4 algorithm 0 processors 0");
  EXPECT_EQ(last[1], last[0]);
  EXPECT_FALSE(std::filesystem::exists(file("cache-0")));
}

TEST_F(JobOfProducts, LeaveProcessorsToCollectives) {
  const auto last = productsOf(" --processors-for-collectives 32");
  EXPECT_EQ(last[0], "4 x 4 x 4 algorithm 0 processors 100");
  EXPECT_EQ(last[1], last[0]);
  EXPECT_THAT(load("products-0"), HasSubstr(" processors 0\n"));
}

TEST_F(Job, RanksThatShareADevice) {
  const std::string plan = cudaPlan(2);
  for (const bool isAllowed : {false, true})
    for (const std::string &text : runAll(2, [&](int rank) {
           return variables(
                      rank, 2,
                      fmt::format("WEFT_EMULATOR_UUID=7 {}{}",
                                  isAllowed ? "NCCL_HOSTID=host-" : "",
                                  isAllowed ? std::to_string(rank) : "")) +
                  plan + common(2, "cuda");
         })) {
      if (isAllowed)
        EXPECT_THAT(text, EndsWith("status 0"));
      else
        EXPECT_THAT(
            text,
            AllOf(HasSubstr("NCCL wants a device for each rank, and ranks 0, 1 "
                            "have GPU-07000000-e0e0-e0e0-e0e0-e0e0e0e0e0e0 "
                            "(Emulated H200, cuBLASLt 0) of one host"),
                  EndsWith("status 1")));
    }
}

/// The others hear of it from the rank that has it.
TEST_F(Job, ADeviceOfOneProcessThatIsLost) {
  const std::string plan = cudaPlan(2);
  const auto texts = runAll(2, [&](int rank) {
    return variables(rank, 2,
                     rank == 1 ? "WEFT_EMULATOR_FAULT=lose@total:2" : "") +
           plan + common(2, "cuda") + " --deadline 5";
  });
  for (const std::string &text : texts)
    EXPECT_THAT(text, AllOf(HasSubstr("on rank 1: the device has failed in "
                                      "entry \"train_step\""),
                            EndsWith("status 1")));
}

} // namespace
} // namespace weft::runtime
