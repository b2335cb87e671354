//===- DeviceFailureTest.cpp - Devices that hang and fail -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device that hangs, or is lost, ends the run with where it was, and the
// session ends all the same. Each session is a process: what a device in
// software has lost, it does not find again.
//
//===----------------------------------------------------------------------===//

#include "cuda/platform/DeviceFailure.h"
#include "DeviceLibraries.h"
#include "SamplePlan.h"
#include "launch/Processes.h"
#include "weft/runtime/Session.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <unistd.h>

#include <chrono>
#include <cstdlib>

namespace weft::runtime {

namespace embedded {
extern const std::string_view FailureKernels;
} // namespace embedded

namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using namespace std::chrono_literals;

/// What a session says when the device meets a fault, and that it ends.
std::string failureOf(const std::string &fault, const PlanBuilder &plan,
                      const std::string &entry, SessionOptions options = {}) {
  return Process([&]() -> std::string {
           const DeviceLibraries libraries;
           setenv("WEFT_EMULATOR_FAULT", fault.c_str(), 1);
           // No algorithm of an earlier session is known.
           const std::string none =
               testing::TempDir() + fmt::format("weft-no-cache-{}", getpid());
           setenv("XDG_CACHE_HOME", none.c_str(), 1);
           const int64_t ranks = plan.build().ranks();
           options.deadline = 500ms;
           std::string text;
           {
             auto session = Session::create(plan.build(), options);
             if (!session.ok())
               return session.status().toString() + "; load failed";
             Session &s = **session;
             if (entry == "train_step")
               for (const Status &set :
                    {s.setState("w", countingArray({16})),
                     s.setInput(entry, "x", countingArray({16 * ranks}))})
                 text += set.message();
             int runs = 0;
             Status status;
             while ((status = s.run(entry)).ok() && ++runs < 10)
               ;
             text += fmt::format("run {}: {}", runs + 1, status.toString());
             if (s.run(entry) != status)
               text += "; not final";
           }
           return text + "; ended";
         })
      .finish();
}

SamplePlan sample(int ranks = 1) {
  SamplePlan sample(ranks);
  makeCudaPlan(sample, std::string(embedded::FailureKernels));
  return sample;
}

/// 150 steps on one buffer.
PlanBuilder longPlan() {
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("long");
  const uint32_t y = entry.output("y", builder.type(DType::F32, {16}));
  for (int i = 0; i < 150; ++i)
    entry.launch(i == 70 ? "twice" : "count", {{y, i == 70 ? update : write}});
  for (auto &instruction : entry.table().instructions)
    instruction->cause = "the loop";
  makeCudaPlan(builder, std::string(embedded::FailureKernels));
  for (auto &kernel : builder.table.kernels)
    if (kernel->symbol == "count")
      kernel->grid->workspace_bytes = 64;
  return builder;
}

/// One GEMM, which is timed when it is loaded.
PlanBuilder productPlan() {
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const auto type = builder.type(DType::F32, {4, 4});
  const uint32_t x = entry.input("x", type), y = entry.output("y", type);
  entry.gemm(x, x, y, 4, 4, 4);
  makeCudaPlan(builder, ".version 8.0\n.target sm_80\n.address_size 64\n");
  return builder;
}

TEST(DeviceFailure, AHangEndsTheRunAndTheSession) {
  EXPECT_THAT(
      failureOf("hang@total", sample(), "train_step"),
      AllOf(HasSubstr("run 1: deadline_exceeded: entry \"train_step\" on rank "
                      "0: the device has made no progress for 2 s in entry "
                      "\"train_step\" somewhere from step 0 launch to step "),
            HasSubstr("; if its work takes that long, give a longer "
                      "--deadline; otherwise --no-cuda-graphs with "
                      "CUDA_LAUNCH_BLOCKING=1 shows the step, and dmesg may "
                      "show an Xid"),
            EndsWith("; ended")));
}

TEST(DeviceFailure, AHangInAGraphNamesTheGraph) {
  EXPECT_THAT(failureOf("hang@total:4", sample(), "train_step"),
              AllOf(HasSubstr("run 4: deadline_exceeded: entry "),
                    HasSubstr(" in the graph of entry \"train_step\" somewhere "
                              "from step 0 launch to step "),
                    EndsWith("; ended")));
}

TEST(DeviceFailure, MarksTellHowFarItCame) {
  for (const bool cudaGraphs : {true, false}) {
    SessionOptions options;
    options.cudaGraphs = cudaGraphs;
    EXPECT_THAT(failureOf("hang@twice:4", longPlan(), "long", options),
                AllOf(HasSubstr(fmt::format(
                          "in {}entry \"long\" somewhere from step 64 launch "
                          "(the loop) to step 127 launch (the loop)",
                          cudaGraphs ? "the graph of " : "")),
                      EndsWith("; ended")));
  }
}

TEST(DeviceFailure, OfSeveralRanksEachIsPlaced) {
  EXPECT_THAT(failureOf("hang@total:2", sample(2), "train_step"),
              AllOf(HasSubstr("deadline_exceeded: "),
                    HasSubstr(" is waiting for its device, which is in entry "
                              "\"train_step\" somewhere from step 0 launch to "
                              "step "),
                    EndsWith("; ended")));
}

TEST(DeviceFailure, ALostDeviceIsFinal) {
  for (const int run : {1, 3, 4})
    EXPECT_THAT(
        failureOf(fmt::format("lose@total:{}", run), sample(), "train_step"),
        AllOf(HasSubstr(fmt::format("run {}: unavailable: entry \"train_step\" "
                                    "on rank 0: the device has failed in {}"
                                    "entry \"train_step\" somewhere from ",
                                    run, run > 2 ? "the graph of " : "")),
              HasSubstr("uncorrectable ECC error encountered "
                        "(cudaErrorECCUncorrectable); the device is lost to "
                        "this process: dmesg shows its Xid and nvidia-smi -q "
                        "what it remembers of memory errors; start again from "
                        "the last checkpoint, and without this device if it "
                        "fails again"),
              EndsWith("; ended")));
}

TEST(DeviceFailure, AKernelThatGoesWrong) {
  PlanBuilder builder({{"data", 1}});
  EntryBuilder entry = builder.entry("e");
  const uint32_t y = entry.output("y", builder.type(DType::F32, {16}));
  entry.launch("trap", {{y, write}});
  makeCudaPlan(builder, ".version 8.0\n.target sm_80\n.address_size 64\n"
                        ".visible .entry trap(.param .u64 y) { trap; }\n");
  EXPECT_THAT(failureOf("", builder, "e"),
              AllOf(HasSubstr("the device has failed in entry \"e\" in step 0 "
                              "launch: unspecified launch failure "
                              "(cudaErrorLaunchFailure); a kernel has gone "
                              "wrong: compute-sanitizer names it, and so does "
                              "--no-cuda-graphs with CUDA_LAUNCH_BLOCKING=1; "
                              "try a smaller batch if it does not happen "
                              "there"),
                    EndsWith("; ended")));
}

/// Which is told before the code is loaded, which here no device can.
TEST(DeviceFailure, BlocksThatFindTooLittleSharedMemory) {
  SamplePlan plan(1);
  makeCudaPlan(plan,
               "no PTX, but .entry add( and .entry fill( and .entry "
               "total(",
               "sm_90");
  plan.table.kernels[1]->grid->shared_bytes = 40000;
  plan.table.kernels[1]->grid->launch_shared_bytes = 80000;
  setenv("WEFT_EMULATOR_CAPABILITY", "120", 1);
  EXPECT_EQ(failureOf("", plan, "train_step"),
            "failed_precondition: kernel @add of the plan for sm_90 needs "
            "120000 bytes of shared memory for a block, but device 0 (Emulated "
            "H200, sm_120) has 101376; compile it with --target=cuda:sm_80, "
            "whose kernels need less; load failed");
  unsetenv("WEFT_EMULATOR_CAPABILITY");
}

TEST(DeviceFailure, AtLoad) {
  EXPECT_THAT(failureOf("lose@fill", sample(), "train_step"),
              AllOf(HasSubstr("unavailable: the device has failed in the first "
                              "write to its memory: uncorrectable ECC error"),
                    EndsWith("; load failed")));
  EXPECT_THAT(failureOf("hang@fill", sample(), "train_step"),
              AllOf(HasSubstr("deadline_exceeded: the device did not end the "
                              "first write to its memory on rank 0 within "
                              "2 s"),
                    EndsWith("; load failed")));
}

/// In the first run of an algorithm that is timed, and in a later one: the rest
/// of the algorithms are not tried.
TEST(DeviceFailure, InTheTrialOfAProduct) {
  for (const char *number : {"1", "6"}) {
    EXPECT_THAT(
        failureOf(fmt::format("hang@product:{}", number), productPlan(), "e"),
        AllOf(HasSubstr("deadline_exceeded: entry \"e\": step 0 gemm: "),
              HasSubstr("the device did not end the trial of an algorithm for "
                        "a GEMM on rank 0 within 2 s"),
              EndsWith("; load failed")));
    EXPECT_THAT(
        failureOf(fmt::format("lose@product:{}", number), productPlan(), "e"),
        AllOf(HasSubstr("the device has failed in the trial of an algorithm "
                        "for a GEMM: uncorrectable ECC error"),
              EndsWith("; load failed")));
  }
}

/// What a session of a device with so much memory says, where cuBLASLt proposes
/// an algorithm first that wants this much workspace: 0 or 8 MiB.
std::string load(const char *memory, const PlanBuilder &plan,
                 size_t productWorkspace = 0, SessionOptions options = {}) {
  return Process([&]() -> std::string {
           const DeviceLibraries libraries;
           setenv("WEFT_EMULATOR_MEMORY", memory, 1);
           setenv("WEFT_EMULATOR_ALGORITHM", productWorkspace ? "2" : "0", 1);
           const std::string none =
               testing::TempDir() + fmt::format("weft-no-cache-{}", getpid());
           setenv("XDG_CACHE_HOME", none.c_str(), 1);
           return Session::create(plan.build(), options).status().toString();
         })
      .finish();
}

TEST(DeviceFailure, MemoryIsComparedBeforeItIsAllocated) {
  PlanBuilder plan = sample(2);
  plan.table.kernels[0]->grid->workspace_bytes = 128;
  SessionOptions limited;
  limited.memoryLimit = 1 << 20;
  for (const SessionOptions &options : {SessionOptions(), limited})
    EXPECT_EQ(
        load("1000", plan, 0, options),
        "resource_exhausted: 2 ranks on device 0 (Emulated H200) need 1024 "
        "bytes, 512 each: arena 384, workspace of kernels 128; 1000 bytes "
        "are available; compile for a larger mesh, or shrink the batch");
}

/// The workspace of GEMMs is that of the algorithms that were chosen.
TEST(DeviceFailure, AWorkspaceIsComparedOnceItIsKnown) {
  EXPECT_THAT(load("1000000", productPlan()), EndsWith("\nok"));
  EXPECT_THAT(load("1000000", productPlan(), 8 << 20),
              AllOf(HasSubstr("rank 0: 1 rank on device 0 (Emulated H200) "
                              "needs "),
                    HasSubstr(", workspace of GEMMs and attention 8388608; "
                              "1000000 bytes are available; compile for a "
                              "larger mesh, or shrink the batch")));
}

/// Two ranks with arenas of 16 MiB, and GEMMs that are tried on twice as
/// much again. The attention behind them takes one rank a while, in which the
/// other one tries.
PlanBuilder largeProducts() {
  PlanBuilder builder({{"data", 2}});
  EntryBuilder entry = builder.entry("e");
  constexpr int64_t elements = 1 << 22;
  const uint32_t x = entry.input("x", builder.type(DType::F32, {1, elements})),
                 y = entry.output("y", builder.type(DType::F32, {1, 1}));
  for (int i = 0; i < 3; ++i)
    entry.gemm(x, x, y, 1, 1, elements);
  const auto heads = builder.type(DType::F32, {1, 1, 1, 8});
  const uint32_t query = entry.input("query", heads),
                 out = entry.output("out", heads),
                 sums =
                     entry.output("sums", builder.type(DType::F32, {1, 1, 1}));
  entry.attention(query, query, query, out, sums, {1, 1, 1, 1, 1, 8});
  makeCudaPlan(builder, ".version 8.0\n.target sm_80\n.address_size 64\n");
  return builder;
}

/// Room for two arenas and two workspaces is enough: what one rank tries its
/// GEMMs on is not taken for gone by the other.
TEST(DeviceFailure, RanksOfADeviceTakeTurnsWithItsMemory) {
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(load("50400000", largeProducts(), 8 << 20), EndsWith("\nok"));
  // Whoever comes second finds out.
  EXPECT_THAT(load("50000000", largeProducts(), 8 << 20),
              AllOf(HasSubstr(": 1 rank on device 0 (Emulated H200) needs "),
                    HasSubstr(", workspace of GEMMs and attention 8388608; "),
                    HasSubstr(" bytes are available; compile for a larger "
                              "mesh, or shrink the batch")));
}

TEST(DeviceFailure, ErrorsOfCallsAreNoFailures) {
  for (const cudaError_t error :
       {cudaSuccess, cudaErrorNotReady, cudaErrorMemoryAllocation,
        cudaErrorInvalidValue, cudaErrorStreamCaptureUnsupported})
    EXPECT_FALSE(isDeviceFailure(error)) << error;
}

} // namespace
} // namespace weft::runtime
