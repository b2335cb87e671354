//===- CudaKernelTest.cpp - Kernels as nvcc compiles them -----------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda.h"
#include "cudart/Emulator.h"

#include <chrono>
#include <cmath>
#include <numeric>

using namespace weft::emulator;
using testing::ElementsAre;
using testing::FloatNear;

namespace {

std::vector<float> counting(size_t count) {
  std::vector<float> result(count);
  std::iota(result.begin(), result.end(), 0.0f);
  return result;
}

TEST(CudaKernels, ReduceRows) {
  Kernels kernels;
  std::vector<float> values(7 * 300);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i));
  DeviceFloats x(values), y(Unset{7});
  EXPECT_CUDA(kernels.launch("sum_exp", dim3(7), dim3(128), nullptr, x.data,
                             y.data, 300));
  std::vector<float> result = y.read();
  for (int row = 0; row < 7; ++row) {
    double sum = 0;
    for (int i = 0; i < 300; ++i)
      sum += std::exp(values[row * 300 + i]);
    EXPECT_NEAR(result[row], sum, 1e-5 * sum);
  }
}

TEST(CudaKernels, TransposeByTiles) {
  Kernels kernels;
  DeviceFloats x(counting(50 * 37)), y(Unset{50 * 37});
  EXPECT_CUDA(kernels.launch("transpose", dim3(3, 4), dim3(16, 16), nullptr,
                             x.data, y.data, 50, 37));
  std::vector<float> result = y.read();
  for (int row = 0; row < 50; ++row)
    for (int column = 0; column < 37; ++column)
      ASSERT_EQ(result[column * 50 + row], row * 37 + column);
}

TEST(CudaKernels, FunctionsOfTheLibrary) {
  Kernels kernels;
  std::vector<float> values(60);
  for (int i = 0; i < 60; ++i)
    values[i] = 0.05f + 0.1f * i;
  DeviceFloats x(values), y(Unset{60});
  EXPECT_CUDA(kernels.launch("functions", dim3(1), dim3(64), nullptr, x.data,
                             y.data, 60));
  std::vector<float> result = y.read();
  for (int i = 0; i < 60; ++i) {
    double v = values[i];
    double expected[] = {std::sin(double(values[i] * 1000)),
                         std::cos(v),
                         std::tanh(v),
                         std::log(v),
                         std::pow(v, double(1.7f)),
                         std::erf(v),
                         std::exp(v),
                         1 / std::sqrt(v),
                         std::log1p(v),
                         std::expm1(v)};
    EXPECT_NEAR(result[i], expected[i % 10],
                4e-6 * (1e-1 + std::fabs(expected[i % 10])))
        << "function " << i % 10 << " of " << v;
  }
}

TEST(CudaKernels, RoundToSixteenBits) {
  Kernels kernels;
  std::vector<float> values = {
      1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f, 70000, 1e-8f,
      1.0f + 0x1p-8f,  1.0f + 3 * 0x1p-8f,  3.1f,  -0.0f};
  DeviceFloats x(values), half(Unset{8}), bfloat(Unset{8});
  EXPECT_CUDA(kernels.launch("round_trip", dim3(1), dim3(2), nullptr, x.data,
                             half.data, bfloat.data));
  EXPECT_THAT(half.read(), ElementsAre(1, 1 + 0x1p-9f, INFINITY, 0, 1 + 0x1p-8f,
                                       1 + 3 * 0x1p-8f, 3.099609375f, -0.0f));
  EXPECT_THAT(bfloat.read(), ElementsAre(1, 1, 70144, FloatNear(1e-8f, 1e-10f),
                                         1, 1 + 0x1p-6f, 3.09375f, -0.0f));
}

TEST(CudaKernels, TheLastBlockSumsWhatTheOthersLeft) {
  Kernels kernels;
  DeviceFloats x(counting(1000)), partial(Unset{8}), arrived({0}), y(Unset{1});
  for (int i = 0; i < 10; ++i)
    EXPECT_CUDA(kernels.launch("sum_all", dim3(8), dim3(32), nullptr, x.data,
                               partial.data, arrived.data, y.data, 1000));
  EXPECT_THAT(y.read(), ElementsAre(499500));
}

TEST(CudaKernels, LanesDivergeAndCallFunctions) {
  Kernels kernels;
  DeviceFloats y(Unset{96});
  EXPECT_CUDA(kernels.launch("diverge", dim3(1), dim3(96), nullptr, y.data));
  std::vector<float> result = y.read();
  for (int i = 0; i < 96; ++i) {
    int steps = 0;
    for (int value = i + 1; value != 1; ++steps)
      value = value % 2 ? 3 * value + 1 : value / 2;
    EXPECT_EQ(result[i], 1.5f * steps);
  }
}

TEST(CudaKernels, RunFastEnoughForTests) {
  Kernels kernels;
  constexpr int columns = 4096, rows = 64;
  DeviceFloats x(std::vector<float>(columns * rows, 0.5f)), y(Unset{rows});
  uint64_t before = executedInstructions();
  auto start = std::chrono::steady_clock::now();
  EXPECT_CUDA(kernels.launch("sum_exp", dim3(rows), dim3(256), nullptr, x.data,
                             y.data, columns));
  EXPECT_CUDA(cudaDeviceSynchronize());
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  double rate = (executedInstructions() - before) / seconds.count();
  RecordProperty("instructions_per_second", std::to_string(rate));
  // Shown, not demanded: the machine may be busy.
  EXPECT_GT(rate, 0);
  std::printf("%.0f million instructions of threads a second\n", rate / 1e6);
}

} // namespace
