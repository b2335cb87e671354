//===- SteadyStateTest.cpp - What a run asks of CUDA ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts counters between a rank and libcudart: runs create, allocate, load and
// wait for nothing (rule C1), are captured in their third run (N12) and in the
// mode that leaves other threads alone (C3), and are one launch from then on.
//
//===----------------------------------------------------------------------===//

#include "DeviceLibraries.h"
#include "SamplePlan.h"
#include "cuda/comm/LoopbackWorld.h"
#include "cuda/rank/CudaRank.h"

#include <gmock/gmock.h>

#include <mutex>

namespace weft::runtime {
namespace {

/// The functions of the device, and how often each was called.
struct CountedCudart {
  static inline Cudart real;
  static inline int forbidden = 0, launches = 0, graphLaunches = 0,
                    captures = 0, instances = 0;
  static inline cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;

  /// Counts the calls of one member in `Counter`.
  template <auto Member, int *Counter, typename... Arguments>
  static void count(cudaError_t (*&function)(Arguments...)) {
    function = [](Arguments... arguments) {
      ++*Counter;
      return (real.*Member)(arguments...);
    };
  }

  static Cudart table() {
    Cudart table = real;
    count<&Cudart::malloc, &forbidden>(table.malloc);
    count<&Cudart::free, &forbidden>(table.free);
    count<&Cudart::mallocHost, &forbidden>(table.mallocHost);
    count<&Cudart::freeHost, &forbidden>(table.freeHost);
    count<&Cudart::memcpy, &forbidden>(table.memcpy);
    count<&Cudart::memset, &forbidden>(table.memset);
    count<&Cudart::streamCreateWithPriority, &forbidden>(
        table.streamCreateWithPriority);
    count<&Cudart::eventCreateWithFlags, &forbidden>(
        table.eventCreateWithFlags);
    count<&Cudart::libraryLoadData, &forbidden>(table.libraryLoadData);
    count<&Cudart::libraryGetKernel, &forbidden>(table.libraryGetKernel);
    count<&Cudart::streamSynchronize, &forbidden>(table.streamSynchronize);
    count<&Cudart::eventSynchronize, &forbidden>(table.eventSynchronize);
    count<&Cudart::deviceSynchronize, &forbidden>(table.deviceSynchronize);
    count<&Cudart::launchKernel, &launches>(table.launchKernel);
    count<&Cudart::graphLaunch, &graphLaunches>(table.graphLaunch);
    count<&Cudart::graphInstantiate, &instances>(table.graphInstantiate);
    table.streamBeginCapture = [](cudaStream_t stream,
                                  cudaStreamCaptureMode given) {
      ++captures;
      mode = given;
      return real.streamBeginCapture(stream, given);
    };
    return table;
  }

  static void reset() {
    forbidden = launches = graphLaunches = captures = instances = 0;
  }
};

struct SteadyState : testing::TestWithParam<bool> {
  DeviceLibraries libraries;
};

TEST_P(SteadyState, RunsOnlyEnqueue) {
  const bool cudaGraphs = GetParam();
  auto loaded = loadCudart(CudaLibrarySearch::fromEnvironment());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  CountedCudart::real = *loaded;
  const Cudart cudart = CountedCudart::table();
  const CublasLt cublasLt;
  const auto device = openDevice(cudart, 0);
  ASSERT_TRUE(device.ok()) << device.status().message();

  SamplePlan sample(1);
  makeCudaPlan(sample, testKernels());
  const Plan plan = sample.build();
  const Mesh mesh(plan.contents());
  SessionOptions options;
  options.cudaGraphs = cudaGraphs;
  const RankRequest request{plan, mesh, options, [](const Status &) {}};
  const Roofline roofline;
  auto kernels =
      PlanKernels::load(cudart, plan.contents(), *device, request.note);
  ASSERT_TRUE(kernels.ok()) << kernels.status().message();
  auto world = LoopbackWorld::create(cudart, 1, {{{0}}}, CollectiveQueues(1),
                                     options.deadline);
  ASSERT_TRUE(world.ok()) << world.status().message();
  std::mutex taking;
  const Roles roles(plan.contents(), mesh);
  const PipelineQueues queues(plan.contents());
  const CudaRankSetup setup{request,  roles,   queues,  cudart,
                            cublasLt, nullptr, *device, roofline,
                            *kernels, **world, taking};
  CudaRank rank(setup, 0);
  ASSERT_TRUE(rank.initialize().ok());
  std::fill_n(rank.input(1, 0), 64, std::byte(0));

  ASSERT_TRUE(rank.run(0).ok());
  for (int run = 1; run <= 6; ++run) {
    CountedCudart::reset();
    const Status status = rank.run(1);
    ASSERT_TRUE(status.ok()) << status.message();
    const bool isCaptured = cudaGraphs && run == 3;
    const bool isGraph = cudaGraphs && run >= 3;
    EXPECT_EQ(CountedCudart::forbidden, 0) << run;
    EXPECT_EQ(CountedCudart::captures, isCaptured) << run;
    EXPECT_EQ(CountedCudart::instances, isCaptured) << run;
    EXPECT_EQ(CountedCudart::graphLaunches, isGraph) << run;
    EXPECT_EQ(CountedCudart::launches == 0, isGraph && !isCaptured) << run;
    EXPECT_GT(rank.enqueueTime().count(), 0) << run;
  }
  if (cudaGraphs) {
    EXPECT_EQ(CountedCudart::mode, cudaStreamCaptureModeThreadLocal);
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, SteadyState, testing::Bool());

} // namespace
} // namespace weft::runtime
