//===- GemmTunerTest.cpp - Which algorithm computes a product ---*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The libraries are tables of functions: here of ours, which note what they are
// asked and take as long as the test says. Descriptors and preferences are the
// real library's, which checks attributes and their sizes, and needs no driver.
//
//===----------------------------------------------------------------------===//

#include "cuda/GemmTuner.h"
#include "cuda/Gemm.h"
#include "cuda/GemmMeasurement.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace weft::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

//===----------------------------------------------------------------------===//
// The libraries
//===----------------------------------------------------------------------===//

/// An algorithm is a number in its first word.
cublasLtMatmulAlgo_t algorithmOf(uint64_t number) {
  cublasLtMatmulAlgo_t algorithm = {};
  algorithm.data[0] = number;
  return algorithm;
}

struct FakeDevice {
  // What the test decides.
  std::vector<float> times{5, 3, 4};
  std::vector<size_t> workspaces{0, 1024, 64 << 20};
  std::vector<int> failing;
  size_t memoryLimit = SIZE_MAX;
  bool acceptsKnown = true;

  // What was asked.
  int heuristicCalls = 0, requested = 0, checks = 0, runs = 0, flushes = 0;
  size_t flushBytes = 0, allocated = 0, live = 0;
  uint32_t reductionMask = 0, alignmentA = 0;
  uint64_t workspaceAllowed = 0;
  float clock = 0, lastRecord = 0;
  uint64_t lastRun = 0;
  double alpha = 0, beta = 0;
  cudaStream_t lastStream = nullptr;
};
FakeDevice *fake = nullptr;

Cudart fakeCudart() {
  Cudart t;
  t.getErrorString = [](cudaError_t) { return "out of memory"; };
  t.getErrorName = [](cudaError_t) { return "cudaErrorMemoryAllocation"; };
  t.getLastError = [] { return cudaSuccess; };
  t.malloc = [](void **memory, size_t bytes) {
    if (fake->allocated + bytes > fake->memoryLimit)
      return cudaErrorMemoryAllocation;
    fake->allocated += bytes;
    ++fake->live;
    *memory = std::malloc(bytes);
    return cudaSuccess;
  };
  t.free = [](void *memory) {
    --fake->live;
    std::free(memory);
    return cudaSuccess;
  };
  t.memcpy = [](void *to, const void *from, size_t bytes, cudaMemcpyKind) {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  };
  t.memsetAsync = [](void *, int, size_t bytes, cudaStream_t) {
    ++fake->flushes;
    fake->flushBytes = bytes;
    return cudaSuccess;
  };
  t.deviceGetAttribute = [](int *value, cudaDeviceAttr attribute, int) {
    EXPECT_EQ(attribute, cudaDevAttrL2CacheSize);
    *value = 50 << 20;
    return cudaSuccess;
  };
  t.eventCreateWithFlags = [](cudaEvent_t *event, unsigned) {
    *event = reinterpret_cast<cudaEvent_t>(new float(0));
    return cudaSuccess;
  };
  t.eventDestroy = [](cudaEvent_t event) {
    delete reinterpret_cast<float *>(event);
    return cudaSuccess;
  };
  t.eventRecord = [](cudaEvent_t event, cudaStream_t) {
    *reinterpret_cast<float *>(event) = fake->clock;
    return cudaSuccess;
  };
  t.eventSynchronize = [](cudaEvent_t) { return cudaSuccess; };
  t.eventElapsedTime = [](float *time, cudaEvent_t from, cudaEvent_t to) {
    *time = *reinterpret_cast<float *>(to) - *reinterpret_cast<float *>(from);
    return cudaSuccess;
  };
  t.streamSynchronize = [](cudaStream_t) { return cudaSuccess; };
  return t;
}

const Result<CublasLt> &realCublasLt() {
  static const Result<CublasLt> real =
      loadCublasLt(CudaLibrarySearch{{WEFT_CUDA_LIBRARY_FOLDER}});
  return real;
}

CublasLt fakeCublasLt() {
  if (!realCublasLt().ok())
    return {};
  CublasLt t = *realCublasLt();
  t.create = [](cublasLtHandle_t *handle) {
    *handle = reinterpret_cast<cublasLtHandle_t>(1);
    return CUBLAS_STATUS_SUCCESS;
  };
  t.destroy = [](cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; };
  static const auto setReal = t.matmulPreferenceSetAttribute;
  t.matmulPreferenceSetAttribute =
      [](cublasLtMatmulPreference_t preference,
         cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
         size_t bytes) {
        if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
          fake->reductionMask = *static_cast<const uint32_t *>(value);
        if (attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)
          fake->alignmentA = *static_cast<const uint32_t *>(value);
        if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
          fake->workspaceAllowed = *static_cast<const uint64_t *>(value);
        return setReal(preference, attribute, value, bytes);
      };
  t.matmulAlgoGetHeuristic = [](cublasLtHandle_t, cublasLtMatmulDesc_t,
                                cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                cublasLtMatmulPreference_t, int requested,
                                cublasLtMatmulHeuristicResult_t *results,
                                int *found) {
    ++fake->heuristicCalls;
    fake->requested = requested;
    *found = std::min<int>(requested, fake->times.size());
    if (*found == 0)
      return CUBLAS_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < *found; ++i)
      results[i] = {
          algorithmOf(i), fake->workspaces[i], CUBLAS_STATUS_SUCCESS, 1, {}};
    return CUBLAS_STATUS_SUCCESS;
  };
  t.matmulAlgoCheck = [](cublasLtHandle_t, cublasLtMatmulDesc_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         const cublasLtMatmulAlgo_t *algorithm,
                         cublasLtMatmulHeuristicResult_t *result) {
    ++fake->checks;
    result->workspaceSize = fake->workspaces[algorithm->data[0]];
    return fake->acceptsKnown ? CUBLAS_STATUS_SUCCESS
                              : CUBLAS_STATUS_NOT_SUPPORTED;
  };
  t.matmul = [](cublasLtHandle_t, cublasLtMatmulDesc_t, const void *alpha,
                const void *, cublasLtMatrixLayout_t, const void *,
                cublasLtMatrixLayout_t, const void *beta, const void *c,
                cublasLtMatrixLayout_t, void *d, cublasLtMatrixLayout_t,
                const cublasLtMatmulAlgo_t *algorithm, void *, size_t,
                cudaStream_t stream) {
    EXPECT_EQ(c, d);
    ++fake->runs;
    fake->alpha = *static_cast<const float *>(alpha);
    fake->beta = *static_cast<const float *>(beta);
    fake->lastRun = algorithm->data[0];
    fake->lastStream = stream;
    for (const int number : fake->failing)
      if (static_cast<uint64_t>(number) == fake->lastRun)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    fake->clock += fake->times[fake->lastRun];
    return CUBLAS_STATUS_SUCCESS;
  };
  return t;
}

class GemmTunerTest : public testing::Test {
protected:
  GemmTunerTest()
      : folder(testing::TempDir() + fmt::format("weft-tuner-{}", getpid())) {
    std::filesystem::remove_all(folder);
    fake = &device;
    context.note = [this](std::string text) { notes.push_back(text); };
    problem.product.m = 4, problem.product.n = 8, problem.product.k = 2;
    problem.product.lhs = {0, 2, 1};
    problem.product.rhs = {0, 8, 1};
    problem.product.result = {0, 8, 1};
  }
  void SetUp() override {
    if (!realCublasLt().ok())
      GTEST_SKIP() << realCublasLt().status().message();
  }
  ~GemmTunerTest() override {
    EXPECT_EQ(device.live, 0u) << "memory of measurements is freed";
    std::filesystem::remove_all(folder);
  }

  std::unique_ptr<GemmTuner> tuner(const std::string &path = "") const {
    return std::make_unique<GemmTuner>(std::make_unique<AlgorithmCache>(path));
  }
  Result<std::unique_ptr<CudaOperation>> bind(GemmTuner &tuner) {
    return bindCudaGemm(problem, pointers, context, tuner);
  }
  /// The algorithm that a bound product runs.
  uint64_t algorithmIn(GemmTuner &tuner) {
    const auto bound = bind(tuner);
    EXPECT_TRUE(bound.ok()) << bound.status().message();
    const auto stream = reinterpret_cast<cudaStream_t>(77);
    EXPECT_TRUE((*bound)->enqueue(stream).ok());
    EXPECT_EQ(device.lastStream, stream);
    return device.lastRun;
  }

  const std::string folder;
  const std::string path = folder + "/cublaslt.json";
  FakeDevice device;
  const Cudart cudart = fakeCudart();
  const CublasLt cublasLt = fakeCublasLt();
  CudaContext context{cudart, cublasLt, nullptr, 0, 90, "NVIDIA H200", nullptr};
  CudaGemmProblem problem;
  alignas(256) float memory[256] = {};
  CudaGemmPointers pointers{memory, memory + 64, memory + 128, memory + 192,
                            memory + 128};
  std::vector<std::string> notes;
};

TEST_F(GemmTunerTest, TakesTheFastest) {
  const auto all = tuner();
  EXPECT_EQ(algorithmIn(*all), 1u);
  EXPECT_GE(device.requested, 20);
  EXPECT_EQ(device.workspaceAllowed, 32u << 20);
  EXPECT_EQ(device.flushBytes, 100u << 20) << "twice the cache";
  EXPECT_EQ(device.flushes, device.runs - 1) << "before each measured run";
  EXPECT_EQ((*bind(*all))->workspaceBytes(), 1024u);
  EXPECT_THAT(notes, IsEmpty());
}

TEST_F(GemmTunerTest, MeasuresAProblemOnce) {
  const auto all = tuner();
  EXPECT_EQ(algorithmIn(*all), 1u);
  const int runs = device.runs;
  EXPECT_EQ(algorithmIn(*all), 1u);
  EXPECT_EQ(device.runs, runs + 1);
  EXPECT_EQ(device.heuristicCalls, 1);
  problem.product.accumulate = true;
  EXPECT_EQ(algorithmIn(*all), 1u);
  EXPECT_EQ(device.heuristicCalls, 2);
}

TEST_F(GemmTunerTest, SumsAreNotRoundedInBetween) {
  (void)algorithmIn(*tuner());
  EXPECT_EQ(device.reductionMask,
            uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
}

TEST_F(GemmTunerTest, AddsToTheOldContentsInPlace) {
  (void)algorithmIn(*tuner());
  EXPECT_EQ(device.alpha, 1);
  EXPECT_EQ(device.beta, 0);
  problem.product.accumulate = true;
  (void)algorithmIn(*tuner());
  EXPECT_EQ(device.beta, 1);
}

TEST_F(GemmTunerTest, SaysHowPointersAreAligned) {
  (void)algorithmIn(*tuner());
  EXPECT_EQ(device.alignmentA, 256u); // a is rhs
  pointers.rhs = memory + 16;
  (void)algorithmIn(*tuner());
  EXPECT_EQ(device.alignmentA, 64u);
}

TEST_F(GemmTunerTest, LeavesOutWhatFailsOrWantsMore) {
  device.failing = {1};
  EXPECT_EQ(algorithmIn(*tuner()), 0u) << "2 wants more workspace";
}

TEST_F(GemmTunerTest, ReadsTheFileOfAnotherProcess) {
  EXPECT_EQ(algorithmIn(*tuner(path)), 1u);
  const int runs = device.runs;
  EXPECT_EQ(algorithmIn(*tuner(path)), 1u);
  EXPECT_EQ(device.runs, runs + 1);
  EXPECT_EQ(device.checks, 1) << "never used unchecked (rule C5)";
}

TEST_F(GemmTunerTest, MeasuresAgainWhatTheLibraryRefuses) {
  EXPECT_EQ(algorithmIn(*tuner(path)), 1u);
  device.acceptsKnown = false;
  device.times = {1, 2, 3};
  EXPECT_EQ(algorithmIn(*tuner(path)), 0u);
  EXPECT_EQ(device.heuristicCalls, 2);
}

TEST_F(GemmTunerTest, MeasuresAgainForAnotherVersionOrMachine) {
  EXPECT_EQ(algorithmIn(*tuner(path)), 1u);
  context.deviceName = "NVIDIA H100";
  EXPECT_EQ(algorithmIn(*tuner(path)), 1u);
  EXPECT_EQ(device.heuristicCalls, 2);
  CublasLt newer = cublasLt;
  newer.getVersion = [] { return size_t(130999); };
  newer.create = [](cublasLtHandle_t *handle) { // not the same library
    *handle = reinterpret_cast<cublasLtHandle_t>(2);
    return CUBLAS_STATUS_SUCCESS;
  };
  const CudaContext other{cudart, newer,         nullptr, 0,
                          90,     "NVIDIA H100", nullptr};
  ASSERT_TRUE(bindCudaGemm(problem, pointers, other, *tuner(path)).ok());
  EXPECT_EQ(device.heuristicCalls, 3);
}

TEST_F(GemmTunerTest, ADamagedFileIsANote) {
  std::filesystem::create_directories(folder);
  std::ofstream(path) << "{";
  EXPECT_EQ(algorithmIn(*tuner(path)), 1u);
  EXPECT_THAT(notes, ElementsAre(HasSubstr(
                         "ignored the damaged cache of algorithms " + path)));
}

TEST_F(GemmTunerTest, WithoutMemoryTheFirstIsTaken) {
  device.memoryLimit = 1 << 20;
  EXPECT_EQ(algorithmIn(*tuner(path)), 0u);
  EXPECT_THAT(notes, ElementsAre(HasSubstr(
                         "took the first algorithm of cuBLASLt for a product, "
                         "unmeasured: cudaMalloc: out of memory")));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(GemmTunerTest, WhatCublasLtLacksIsOneError) {
  device.times.clear();
  const auto bound = bind(*tuner());
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.status().code(), StatusCode::Unimplemented);
  EXPECT_EQ(bound.status().message(),
            "f32 product of 4 x 2 and 2 x 8 into f32: cuBLASLt has no "
            "algorithm for it");
}

TEST_F(GemmTunerTest, TheEnvironmentTurnsMeasurementOff) {
  setenv("WEFT_CUDA_TUNE", "off", 1);
  auto off = GemmTuner::fromEnvironment();
  ASSERT_TRUE(off.ok());
  EXPECT_EQ(algorithmIn(**off), 0u);
  EXPECT_EQ(device.runs, 1);
  setenv("WEFT_CUDA_TUNE", "maybe", 1);
  EXPECT_EQ(GemmTuner::fromEnvironment().status().message(),
            "WEFT_CUDA_TUNE is \"maybe\", must be \"on\" or \"off\"");
  unsetenv("WEFT_CUDA_TUNE");
  EXPECT_TRUE(GemmTuner::fromEnvironment().ok());
}

/// The real library takes the attributes of every epilogue.
TEST_F(GemmTunerTest, EveryEpilogueHasDescriptors) {
  const auto all = tuner();
  for (const plan::GemmEpilogue epilogue : plan::EnumValuesGemmEpilogue()) {
    problem.epilogue = epilogue;
    const auto bound = bind(*all);
    EXPECT_TRUE(bound.ok()) << bound.status().message();
  }
}

TEST(GemmTuner, Workspaces) {
  EXPECT_EQ(gemmWorkspaceLimit(80), 4u << 20);
  EXPECT_EQ(gemmWorkspaceLimit(90), 32u << 20);
  EXPECT_EQ(gemmWorkspaceLimit(100), 32u << 20);
}

TEST(GemmTuner, OfEqualsTheFirst) {
  const std::vector<GemmAlgorithm> proposals = {
      {algorithmOf(0), 0}, {algorithmOf(1), 0}, {algorithmOf(2), 0}};
  const auto chosen = [&](std::vector<std::optional<float>> times) {
    return fastestOf(proposals,
                     [&](const GemmAlgorithm &algorithm) {
                       return times[algorithm.code.data[0]];
                     })
        .code.data[0];
  };
  EXPECT_EQ(chosen({2, 1, 1}), 1u);
  EXPECT_EQ(chosen({std::nullopt, 3, 2}), 2u);
  EXPECT_EQ(chosen({std::nullopt, std::nullopt, std::nullopt}), 0u);
}

} // namespace
} // namespace weft::runtime
