//===- DeviceGemmTest.cpp - GEMMs on a device -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GEMMs through cuBLASLt, bound as in a plan, against the plain ones of the
// CPU.
//
//===----------------------------------------------------------------------===//

#include "DeviceLibraries.h"

#include "cuda/gemm/Gemm.h"
#include "cuda/gemm/GemmTuner.h"
#include "cuda/platform/DeviceScratch.h"
#include "cuda/platform/Handles.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

namespace weft::runtime {
namespace {

class DeviceGemm : public testing::Test {
protected:
  void SetUp() override {
    const DeviceLibraries libraries;
    const CudaLibrarySearch search = CudaLibrarySearch::fromEnvironment();
    cudart = *loadCudart(search);
    cublasLt = *loadCublasLt(search);
    stream = *createStream(cudart, 0);
    context.emplace(CudaContext{cudart, cublasLt, nullptr, 0, 90, "a device",
                                stream.get()});
  }

  /// Elements of a dense stack of matrices of the sizes.
  static MatrixStrides stridesOf(int64_t rows, int64_t columns,
                                 bool byColumns) {
    return {rows * columns, byColumns ? 1 : columns, byColumns ? rows : 1};
  }

  /// Dense, each by rows or by columns.
  static void layOut(GemmProblem &p, bool lhsByColumns, bool rhsByColumns,
                     bool resultByColumns) {
    p.lhs = stridesOf(p.m, p.k, lhsByColumns);
    p.rhs = stridesOf(p.k, p.n, rhsByColumns);
    p.result = stridesOf(p.m, p.n, resultByColumns);
  }

  std::vector<std::byte> download(const void *from, size_t bytes) {
    std::vector<std::byte> values(bytes);
    EXPECT_EQ(cudart.memcpy(values.data(), from, bytes, cudaMemcpyDeviceToHost),
              cudaSuccess);
    return values;
  }
  static double valueAt(const std::vector<std::byte> &bytes, DType dtype,
                        size_t index) {
    const std::byte *address = bytes.data() + index * byteSize(dtype);
    const auto get = [&]<typename T>(T value) {
      std::memcpy(&value, address, sizeof(T));
      return value;
    };
    switch (dtype) {
    case DType::F32:
      return get(float());
    case DType::F64:
      return get(double());
    case DType::BF16:
      return toFloat(get(BFloat16()));
    default:
      return toFloat(get(Float16()));
    }
  }

  /// The sums over k of the factor that a gradient of a bias is made of.
  static std::vector<double>
  sumsOfFactor(const CudaGemmProblem &problem,
               const std::vector<std::byte> &factor) {
    const GemmProblem &p = problem.gemm;
    const bool isLhs = problem.epilogue == plan::GemmEpilogue::LhsBiasGrad;
    std::vector<double> sums(isLhs ? p.m : p.n);
    for (size_t i = 0; i < sums.size(); ++i)
      for (int64_t k = 0; k < p.k; ++k)
        sums[i] += valueAt(factor, p.in,
                           isLhs ? i * p.lhs.row + k * p.lhs.column
                                 : k * p.rhs.row + i * p.rhs.column);
    return sums;
  }

  void expectThatOfTheCpu(const CudaGemmProblem &problem, double tolerance) {
    SCOPED_TRACE(toString(problem));
    const GemmProblem &p = problem.gemm;
    DeviceScratch memory(*context);
    const int64_t counts[] = {p.batch * p.m * p.k, p.batch * p.k * p.n,
                              p.batch * p.m * p.n};
    const bool hasSums = problem.epilogue != plan::GemmEpilogue::None;
    const CudaGemmPointers pointers{
        *memory.random(p.in, counts[0], 1), *memory.random(p.in, counts[1], 2),
        *memory.random(p.out, counts[2], 3),
        hasSums ? *memory.random(p.out, std::max(p.m, p.n), 4) : nullptr};
    const size_t bytes = counts[2] * byteSize(p.out);
    auto expected = download(pointers.out, bytes);
    const auto lhs = download(pointers.lhs, counts[0] * byteSize(p.in));
    const auto rhs = download(pointers.rhs, counts[1] * byteSize(p.in));
    ASSERT_TRUE(
        (*bindReferenceGemm(p, {lhs.data(), rhs.data(), expected.data()}))
            ->run()
            .ok());

    const auto bound = bindCudaGemm(problem, pointers, *context, tuner);
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    (*bound)->bindWorkspace(*memory.allocate((*bound)->workspaceBytes() + 1));
    ASSERT_TRUE((*bound)->enqueue(stream.get()).ok());
    ASSERT_EQ(cudart.streamSynchronize(stream.get()), cudaSuccess);
    const auto found = download(pointers.out, bytes);
    for (int64_t i = 0; i < counts[2]; ++i)
      ASSERT_NEAR(valueAt(found, p.out, i), valueAt(expected, p.out, i),
                  tolerance)
          << i;
    if (!hasSums)
      return;
    const auto sums = sumsOfFactor(
        problem,
        problem.epilogue == plan::GemmEpilogue::LhsBiasGrad ? lhs : rhs);
    const auto gradient =
        download(pointers.bias, sums.size() * byteSize(p.out));
    for (size_t i = 0; i < sums.size(); ++i)
      ASSERT_NEAR(valueAt(gradient, p.out, i), sums[i], tolerance) << i;
  }

  Cudart cudart;
  CublasLt cublasLt;
  StreamOwner stream;
  std::optional<CudaContext> context;
  GemmTuner tuner{std::make_unique<AlgorithmCache>("")};
};

TEST_F(DeviceGemm, EveryLayout) {
  for (int layouts = 0; layouts < 16; ++layouts) {
    CudaGemmProblem problem;
    GemmProblem &p = problem.gemm;
    p.batch = layouts & 8 ? 3 : 1, p.m = 6, p.n = 5, p.k = 7;
    layOut(p, layouts & 1, layouts & 2, layouts & 4);
    for (const bool accumulate : {false, true}) {
      p.accumulate = accumulate;
      expectThatOfTheCpu(problem, 1e-5);
    }
  }
}

TEST_F(DeviceGemm, EveryType) {
  struct Types {
    DType in, out;
    double tolerance;
  };
  for (const auto &[in, out, tolerance] :
       {Types{DType::F64, DType::F64, 1e-12},
        Types{DType::BF16, DType::F32, 1e-5},
        Types{DType::BF16, DType::BF16, 0.04},
        Types{DType::F16, DType::F32, 1e-5},
        Types{DType::F16, DType::F16, 0.005}}) {
    CudaGemmProblem problem;
    GemmProblem &p = problem.gemm;
    p.in = in, p.out = out, p.m = 6, p.n = 5, p.k = 19;
    layOut(p, false, true, false);
    expectThatOfTheCpu(problem, tolerance);
  }
}

/// In every size and layout that has them, down to a head of one number.
TEST_F(DeviceGemm, GradientsOfBiasesFromFactors) {
  // Without trials: there are many.
  context->isDeterministic = true;
  for (int sizes = 0; sizes < 8; ++sizes)
    for (int layouts = 0; layouts < 8; ++layouts) {
      CudaGemmProblem problem;
      GemmProblem &p = problem.gemm;
      p.m = sizes & 1 ? 1 : 6, p.n = sizes & 2 ? 1 : 5, p.k = sizes & 4 ? 1 : 7;
      layOut(p, layouts & 1, layouts & 2, layouts & 4);
      if (p.m == 1 || p.lhs.row == 1) {
        problem.epilogue = plan::GemmEpilogue::LhsBiasGrad;
        expectThatOfTheCpu(problem, 1e-5);
      }
      if (p.n == 1 || p.rhs.column == 1) {
        problem.epilogue = plan::GemmEpilogue::RhsBiasGrad;
        expectThatOfTheCpu(problem, 1e-5);
      }
    }
}

TEST_F(DeviceGemm, GradientOfABiasOfLengthOneAfterATrial) {
  CudaGemmProblem problem;
  GemmProblem &p = problem.gemm;
  p.m = 6, p.n = 1, p.k = 7;
  p.lhs = stridesOf(p.m, p.k, true);
  p.rhs = {7, 1, 1};
  p.result = stridesOf(p.m, p.n, false);
  problem.epilogue = plan::GemmEpilogue::RhsBiasGrad;
  expectThatOfTheCpu(problem, 1e-5);
}

TEST_F(DeviceGemm, RefusesSumsOfAFactorThatIsNotDense) {
  CudaGemmProblem problem;
  GemmProblem &p = problem.gemm;
  p.m = 6, p.n = 5, p.k = 7;
  layOut(p, false, true, false);
  problem.epilogue = plan::GemmEpilogue::RhsBiasGrad;
  const auto bound = bindCudaGemm(problem, {}, *context, tuner);
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.status().code(), StatusCode::Unimplemented);
  EXPECT_EQ(
      bound.status().message(),
      "f32 GEMM of 6 x 7 and 7 x 5 into f32, with RhsBiasGrad: rhs: "
      "the gradient of a bias is the sum of an operand whose elements for "
      "one k are dense, and these are 7 apart; compile with "
      "--fuse-epilogues=false");
}

TEST_F(DeviceGemm, RoundsFactorsInTf32Only) {
  CudaGemmProblem problem;
  GemmProblem &p = problem.gemm;
  p.m = 6, p.n = 5, p.k = 7;
  layOut(p, false, false, false);
  expectThatOfTheCpu(problem, 1e-6);
  problem.precision = plan::GemmPrecision::TF32;
  expectThatOfTheCpu(problem, 7 * 2e-3);
}

} // namespace
} // namespace weft::runtime
