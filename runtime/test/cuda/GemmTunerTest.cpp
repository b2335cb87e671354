//===- GemmTunerTest.cpp - Which algorithm computes a GEMM ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The libraries are tables of functions: here of ours, which note what they are
// asked and take as long as the test says. Descriptors and preferences are the
// real library's, which checks attributes and their sizes, needs no driver, and
// says what a GEMM that is run would be.
//
//===----------------------------------------------------------------------===//

#include "cuda/gemm/GemmTuner.h"
#include "cuda/gemm/Gemm.h"
#include "cuda/gemm/GemmMeasurement.h"
#include "cuda/gemm/SharedAlgorithms.h"
#include "launch/Store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

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
  /// The run of a GEMM from which the device does not come back.
  int hangsIn = INT_MAX;

  // What was asked.
  std::set<void *> pieces;
  int freed = 0;
  int heuristicCalls = 0, requested = 0, checks = 0, runs = 0, flushes = 0;
  size_t flushBytes = 0, allocated = 0, live = 0;
  uint32_t reductionMask = 0, alignmentA = 0;
  uint64_t workspaceAllowed = 0;
  float clock = 0, lastRecord = 0;
  uint64_t lastRun = 0;
  double alpha = 0, beta = 0;
  LtProblem ran;
  LtPointers ranOn;
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
    fake->pieces.insert(*memory);
    return cudaSuccess;
  };
  t.memGetInfo = [](size_t *free, size_t *total) {
    *free = 1000, *total = 3000;
    return cudaSuccess;
  };
  t.free = [](void *memory) {
    --fake->live;
    ++fake->freed;
    fake->pieces.erase(memory);
    std::free(memory);
    return cudaSuccess;
  };
  t.memcpyAsync = [](void *to, const void *from, size_t bytes, cudaMemcpyKind,
                     cudaStream_t) {
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
  t.eventElapsedTime = [](float *time, cudaEvent_t from, cudaEvent_t to) {
    *time = *reinterpret_cast<float *>(to) - *reinterpret_cast<float *>(from);
    return cudaSuccess;
  };
  t.streamQuery = [](cudaStream_t) {
    return fake->runs < fake->hangsIn ? cudaSuccess : cudaErrorNotReady;
  };
  return t;
}

const Result<CublasLt> &realCublasLt() {
  static const Result<CublasLt> real =
      loadCublasLt(CudaLibrarySearch{{WEFT_CUDA_LIBRARY_FOLDER}});
  return real;
}

/// Functions of the library that the runtime has no use for.
template <typename Function> Function *getter(const char *symbol) {
  static void *const library =
      dlopen(WEFT_CUDA_LIBRARY_FOLDER "/libcublasLt.so.13", RTLD_NOW);
  return reinterpret_cast<Function *>(dlsym(library, symbol));
}

template <typename T>
T attributeOf(cublasLtMatmulDesc_t description,
              cublasLtMatmulDescAttributes_t attribute) {
  static auto *const get = getter<decltype(cublasLtMatmulDescGetAttribute)>(
      "cublasLtMatmulDescGetAttribute");
  T value{};
  size_t written = 0;
  EXPECT_EQ(get(description, attribute, &value, sizeof(value), &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(written, sizeof(value));
  return value;
}

template <typename T>
T attributeOf(cublasLtMatrixLayout_t layout,
              cublasLtMatrixLayoutAttribute_t attribute) {
  static auto *const get = getter<decltype(cublasLtMatrixLayoutGetAttribute)>(
      "cublasLtMatrixLayoutGetAttribute");
  T value{};
  size_t written = 0;
  EXPECT_EQ(get(layout, attribute, &value, sizeof(value), &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(written, sizeof(value));
  return value;
}

DType dtypeOf(int32_t type) {
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16})
    if (cudaTypeOf(dtype) == type)
      return dtype;
  ADD_FAILURE() << "type " << type;
  return DType::I8;
}

LtMatrix matrixOf(cublasLtMatrixLayout_t layout) {
  EXPECT_EQ(attributeOf<int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_ORDER),
            CUBLASLT_ORDER_COL);
  return {dtypeOf(attributeOf<uint32_t>(layout, CUBLASLT_MATRIX_LAYOUT_TYPE)),
          attributeOf<int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_ROWS),
          attributeOf<int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_COLS),
          attributeOf<int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_LD),
          attributeOf<int64_t>(layout,
                               CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)};
}

/// What the library's objects say.
void decode(cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
            cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t d, bool accumulate,
            LtProblem &p, LtPointers &on) {
  const auto isTransposed = [&](cublasLtMatmulDescAttributes_t attribute) {
    return attributeOf<int32_t>(product, attribute) == CUBLAS_OP_T;
  };
  p.a = matrixOf(a), p.b = matrixOf(b), p.d = matrixOf(d);
  p.a.isTransposed = isTransposed(CUBLASLT_MATMUL_DESC_TRANSA);
  p.b.isTransposed = isTransposed(CUBLASLT_MATMUL_DESC_TRANSB);
  p.batch = attributeOf<int32_t>(d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  for (cublasLtMatrixLayout_t other : {a, b})
    EXPECT_EQ(attributeOf<int32_t>(other, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT),
              p.batch);
  p.accumulate = accumulate;
  p.compute = static_cast<cublasComputeType_t>(
      attributeOf<int32_t>(product, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE));
  p.scale =
      dtypeOf(attributeOf<int32_t>(product, CUBLASLT_MATMUL_DESC_SCALE_TYPE));
  p.epilogue = static_cast<cublasLtEpilogue_t>(
      attributeOf<uint32_t>(product, CUBLASLT_MATMUL_DESC_EPILOGUE));
  on.bias = attributeOf<void *>(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  on.aux =
      attributeOf<void *>(product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
  p.processors =
      attributeOf<int32_t>(product, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET);
  p.hasBias = on.bias != nullptr;
  p.hasAux = on.aux != nullptr;
  if (p.hasBias)
    p.bias = dtypeOf(
        attributeOf<int32_t>(product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE));
  if (p.hasAux) {
    EXPECT_EQ(
        attributeOf<int64_t>(product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD),
        p.d.leading);
    EXPECT_EQ(attributeOf<int64_t>(
                  product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE),
              p.d.batchStride);
  }
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
  t.matmul =
      [](cublasLtHandle_t, cublasLtMatmulDesc_t product, const void *alpha,
         const void *a, cublasLtMatrixLayout_t aLayout, const void *b,
         cublasLtMatrixLayout_t bLayout, const void *beta, const void *c,
         cublasLtMatrixLayout_t cLayout, void *d,
         cublasLtMatrixLayout_t dLayout, const cublasLtMatmulAlgo_t *algorithm,
         void *, size_t, cudaStream_t stream) {
        EXPECT_EQ(c, d);
        EXPECT_EQ(cLayout, dLayout);
        ++fake->runs;
        fake->alpha = *static_cast<const float *>(alpha);
        fake->beta = *static_cast<const float *>(beta);
        fake->lastRun = algorithm->data[0];
        fake->lastStream = stream;
        fake->ranOn = {a, b, d};
        decode(product, aLayout, bLayout, dLayout, fake->beta == 1, fake->ran,
               fake->ranOn);
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
    context.note = [this](const std::string &text) { notes.push_back(text); };
    problem.gemm.m = 4, problem.gemm.n = 8, problem.gemm.k = 2;
    problem.gemm.lhs = {0, 2, 1};
    problem.gemm.rhs = {0, 8, 1};
    problem.gemm.result = {0, 8, 1};
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
  /// The algorithm that a bound GEMM runs.
  uint64_t algorithmIn(GemmTuner &tuner) {
    const auto bound = bind(tuner);
    EXPECT_TRUE(bound.ok()) << bound.status().message();
    const auto stream = reinterpret_cast<cudaStream_t>(77);
    EXPECT_TRUE((*bound)->enqueue(stream).ok());
    EXPECT_EQ(device.lastStream, stream);
    return device.lastRun;
  }

  /// What the choice for the problem is kept under.
  std::string keyInFile() {
    std::filesystem::remove(path);
    EXPECT_TRUE(bind(*tuner(path)).ok());
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const size_t begin = text.find(context.deviceName + " | ");
    return text.substr(begin, text.find('"', begin) - begin);
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
  problem.gemm.accumulate = true;
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
  problem.gemm.accumulate = true;
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

TEST_F(GemmTunerTest, EachPointerHasItsAlignment) {
  const auto all = tuner();
  (void)algorithmIn(*all);
  pointers.rhs = memory + 66, pointers.lhs = memory;
  (void)algorithmIn(*all);
  EXPECT_EQ(device.heuristicCalls, 2);
  // The least of all is the same, but not of which.
  pointers.rhs = memory + 64, pointers.lhs = memory + 2;
  (void)algorithmIn(*all);
  EXPECT_EQ(device.heuristicCalls, 3);
}

TEST_F(GemmTunerTest, DeterministicSessionsMeasureNothing) {
  context.isDeterministic = true;
  EXPECT_EQ(algorithmIn(*tuner(path)), 0u);
  EXPECT_EQ(device.runs, 1);
  EXPECT_EQ(device.requested, 1);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(GemmTunerTest, LeavesOutWhatFailsOrWantsMore) {
  device.failing = {1};
  EXPECT_EQ(algorithmIn(*tuner()), 0u) << "2 wants more workspace";
}

/// The others are not tried, and nothing is given back, which would wait.
TEST_F(GemmTunerTest, ADeviceThatHangsIsWaitedForOnce) {
  device.hangsIn = 3;
  context.patience = std::chrono::milliseconds(10);
  const auto bound = bind(*tuner(path));
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.status().code(), StatusCode::DeadlineExceeded);
  EXPECT_THAT(bound.status().message(),
              HasSubstr("the device did not end the trial of an algorithm for "
                        "a GEMM on rank 0 within 10 ms"));
  EXPECT_EQ(device.runs, 3);
  EXPECT_TRUE(context.waitFailed);
  EXPECT_FALSE(context.left.empty()) << "the library";
  EXPECT_EQ(device.freed, 0);
  EXPECT_FALSE(std::filesystem::exists(path));
  for (void *piece : std::exchange(device.pieces, {}))
    std::free(piece);
  device.live = 0;
}

TEST_F(GemmTunerTest, RemembersNoneThatDidNotRun) {
  device.failing = {0, 1};
  const auto bound = bind(*tuner(path));
  ASSERT_FALSE(bound.ok());
  EXPECT_THAT(bound.status().message(),
              HasSubstr("none of the 2 algorithms that cuBLASLt proposes runs; "
                        "the last: cublasLtMatmul: "));
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(path));
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

/// The first rank, 5, has chosen for two GEMMs, and here one choice wants
/// more workspace than there is.
TEST_F(GemmTunerTest, AChoiceThatIsRefusedMisleadsNoOther) {
  const auto bootstrap = *Bootstrap::connect({}, std::chrono::seconds(1));
  SharedAlgorithms shared{*bootstrap, 5, "s", std::chrono::seconds(1)};
  for (const auto &[accumulate, number] : {std::pair(false, 2), {true, 0}}) {
    problem.gemm.accumulate = accumulate;
    const std::string key = keyInFile();
    ASSERT_TRUE(bootstrap->store()
                    .set("algorithms/5/s/" + SharedAlgorithms::nameOf(key),
                         toHex(algorithmOf(number)) + " " + key)
                    .ok());
  }
  context.algorithms = &shared;
  const auto all = tuner();
  for (int time = 0; time < 2; ++time) {
    problem.gemm.accumulate = false;
    EXPECT_EQ(algorithmIn(*all), 1u) << "the fastest here";
    problem.gemm.accumulate = true;
    EXPECT_EQ(algorithmIn(*all), 0u) << "what was told";
  }
  EXPECT_THAT(notes,
              ElementsAre(HasSubstr("chose an algorithm for a GEMM by "
                                    "itself, because cuBLASLt refuses here "
                                    "what was chosen by rank 5")));
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
                         "took the first algorithm of cuBLASLt for a GEMM, "
                         "unmeasured, because the memory beside the arena does "
                         "not hold a second one: cudaMalloc of 33554432 bytes "
                         "for a trial, with 1000 of 3000 free: out of "
                         "memory")));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(GemmTunerTest, SpareMemoryIsTakenFirst) {
  device.memoryLimit = 1 << 20;
  std::vector<std::byte> spare(192 << 20);
  context.spare = spare;
  EXPECT_EQ(algorithmIn(*tuner()), 1u) << "it was measured";
  EXPECT_EQ(context.spareTaken, 0u) << "and given back";
  EXPECT_THAT(notes, ElementsAre());
}

TEST_F(GemmTunerTest, WhatCublasLtLacksIsOneError) {
  device.times.clear();
  const auto bound = bind(*tuner());
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.status().code(), StatusCode::Unimplemented);
  EXPECT_EQ(bound.status().message(),
            "f32 GEMM of 4 x 2 and 2 x 8 into f32: cuBLASLt has no "
            "algorithm for it");
  problem.epilogue = plan::GemmEpilogue::Gelu;
  EXPECT_EQ(bind(*tuner()).status().message(),
            "f32 GEMM of 4 x 2 and 2 x 8 into f32, with Gelu: cuBLASLt has "
            "no algorithm for it; compile with --fuse-epilogues=false");
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

/// What runs is what GemmLayout says, of the addresses of the plan.
TEST_F(GemmTunerTest, DescriptorsSayTheProblem) {
  const auto all = tuner();
  std::vector<CudaGemmProblem> problems;
  for (const plan::GemmEpilogue epilogue : plan::EnumValuesGemmEpilogue()) {
    problems.push_back(problem);
    problems.back().epilogue = epilogue;
    if (epilogue == plan::GemmEpilogue::LhsBiasGrad)
      problems.back().gemm.lhs = {8, 1, 4};
    problems.push_back(problems.back());
    problems.back().gemm.in = DType::BF16;
    problems.back().bias = DType::BF16;
    problems.back().gemm.accumulate = true;
  }
  problems.push_back(problem);
  problems.back().gemm.batch = 3;
  problems.back().gemm.lhs.batch = 8;
  problems.back().gemm.rhs.batch = 16;
  problems.back().gemm.result.batch = 32;
  problems.push_back(problems.back());
  problems.back().gemm.lhs = {8, 1, 4};
  problems.push_back(problem);
  problems.back().processors = 100;
  problems.push_back(problem);
  problems.back().gemm.result = {0, 1, 4};
  problems.back().precision = plan::GemmPrecision::TF32;
  for (const CudaGemmProblem &each : problems) {
    SCOPED_TRACE(toString(each));
    problem = each;
    (void)algorithmIn(*all);
    LtProblem expected = *ltProblemOf(each);
    EXPECT_EQ(device.ranOn.a, expected.aIsRhs ? pointers.rhs : pointers.lhs);
    EXPECT_EQ(device.ranOn.b, expected.aIsRhs ? pointers.lhs : pointers.rhs);
    EXPECT_EQ(device.ranOn.d, pointers.out);
    EXPECT_EQ(device.ranOn.bias, expected.hasBias ? pointers.bias : nullptr);
    EXPECT_EQ(device.ranOn.aux, expected.hasAux ? pointers.aux : nullptr);
    EXPECT_EQ(toString(device.ran), toString(expected));
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
    return fastestOf(proposals, [&](const GemmAlgorithm &algorithm) {
      return times[algorithm.code.data[0]];
    });
  };
  EXPECT_EQ(chosen({2, 1, 1})->code.data[0], 1u);
  EXPECT_EQ(chosen({std::nullopt, 3, 2})->code.data[0], 2u);
  EXPECT_FALSE(chosen({std::nullopt, std::nullopt, std::nullopt}));
}

} // namespace
} // namespace weft::runtime
