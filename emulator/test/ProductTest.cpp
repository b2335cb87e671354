//===- ProductTest.cpp - Matmuls of the emulator's cuBLASLt ---------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda.h"

#include <cublasLt.h>

#include <cmath>

using namespace weft::emulator;
using testing::ElementsAre;
using testing::FloatNear;

namespace {

#define EXPECT_LT_OK(call) EXPECT_EQ(call, CUBLAS_STATUS_SUCCESS)

/// A product of matrices of floats by columns: d = op(a) op(b) + beta c.
class Product {
public:
  explicit Product(cublasComputeType_t compute = CUBLAS_COMPUTE_32F) {
    EXPECT_LT_OK(cublasLtCreate(&handle));
    EXPECT_LT_OK(cublasLtMatmulDescCreate(&description, compute, CUDA_R_32F));
    EXPECT_LT_OK(cublasLtMatmulPreferenceCreate(&preference));
  }
  ~Product() {
    for (cublasLtMatrixLayout_t layout : layouts)
      EXPECT_LT_OK(cublasLtMatrixLayoutDestroy(layout));
    EXPECT_LT_OK(cublasLtMatmulPreferenceDestroy(preference));
    EXPECT_LT_OK(cublasLtMatmulDescDestroy(description));
    EXPECT_LT_OK(cublasLtDestroy(handle));
  }

  template <typename T>
  cublasStatus_t set(cublasLtMatmulDescAttributes_t name, T value) {
    return cublasLtMatmulDescSetAttribute(description, name, &value, sizeof(T));
  }
  cublasLtMatrixLayout_t matrix(uint64_t rows, uint64_t columns,
                                int64_t leading, int32_t batches = 1,
                                int64_t stride = 0) {
    cublasLtMatrixLayout_t layout = nullptr;
    EXPECT_LT_OK(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, rows, columns,
                                            leading));
    EXPECT_LT_OK(cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, 4));
    EXPECT_LT_OK(cublasLtMatrixLayoutSetAttribute(
        layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, 8));
    layouts.push_back(layout);
    return layout;
  }
  /// What is proposed first.
  cublasStatus_t propose(cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                         cublasLtMatrixLayout_t d,
                         cublasLtMatmulHeuristicResult_t &proposal) {
    int count = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle, description, a, b, d, d,
                                          preference, 1, &proposal, &count);
  }
  /// Runs it with that.
  cublasStatus_t run(const DeviceFloats &a, cublasLtMatrixLayout_t aLayout,
                     const DeviceFloats &b, cublasLtMatrixLayout_t bLayout,
                     DeviceFloats &d, cublasLtMatrixLayout_t dLayout,
                     float beta = 0) {
    cublasLtMatmulHeuristicResult_t proposal;
    cublasStatus_t status = propose(aLayout, bLayout, dLayout, proposal);
    if (status != CUBLAS_STATUS_SUCCESS)
      return status;
    float alpha = 1;
    return cublasLtMatmul(handle, description, &alpha, a.data, aLayout, b.data,
                          bLayout, &beta, d.data, dLayout, d.data, dLayout,
                          &proposal.algo, nullptr, 0, nullptr);
  }

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  std::vector<cublasLtMatrixLayout_t> layouts;
};

float gelu(float x) {
  return 0.5f * x * (1 + std::tanh(0.7978846f * (x + 0.044715f * x * x * x)));
}

// a = [1 2 3; 4 5 6], b = [1 4; 2 5; 3 6] by columns: d = [14 32; 32 77].
const std::vector<float> a = {1, 4, 2, 5, 3, 6}, b = {1, 2, 3, 4, 5, 6};

TEST(Products, MultiplyWhatLiesByColumns) {
  Product product;
  DeviceFloats x(a), y(b), d(Unset{4});
  EXPECT_LT_OK(product.run(x, product.matrix(2, 3, 2), y,
                           product.matrix(3, 2, 3), d,
                           product.matrix(2, 2, 2)));
  EXPECT_THAT(d.read(), ElementsAre(14, 32, 32, 77));
}

TEST(Products, TransposeAndAccumulate) {
  Product product;
  EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T));
  EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T));
  // b is the transpose of a, and the other way round.
  DeviceFloats x(b), y(a), d({1, 2, 3, 4});
  EXPECT_LT_OK(product.run(x, product.matrix(3, 2, 3), y,
                           product.matrix(2, 3, 2), d, product.matrix(2, 2, 2),
                           10));
  EXPECT_THAT(d.read(), ElementsAre(24, 52, 62, 117));
}

TEST(Products, MatricesByRowsAndBatches) {
  Product product;
  cublasLtOrder_t rows = CUBLASLT_ORDER_ROW;
  cublasLtMatrixLayout_t layout = product.matrix(1, 2, 2, 2, 2);
  EXPECT_LT_OK(cublasLtMatrixLayoutSetAttribute(
      layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &rows, sizeof rows));
  DeviceFloats x({1, 2, 3, 4}), y({5, 6, 7, 8}), d(Unset{2});
  EXPECT_LT_OK(product.run(x, layout, y, product.matrix(2, 1, 2, 2, 2), d,
                           product.matrix(1, 1, 1, 2, 1)));
  EXPECT_THAT(d.read(), ElementsAre(17, 53));
}

TEST(Products, EpiloguesForward) {
  Product product;
  DeviceFloats x(a), y(b), d(Unset{4}), bias({-14, -31}), aux(Unset{10});
  EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_EPILOGUE,
                           CUBLASLT_EPILOGUE_GELU_AUX_BIAS));
  EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data));
  EXPECT_LT_OK(
      product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux.data));
  EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t(8)));
  EXPECT_LT_OK(product.run(x, product.matrix(2, 3, 2), y,
                           product.matrix(3, 2, 3), d,
                           product.matrix(2, 2, 2)));
  EXPECT_THAT(d.read(),
              ElementsAre(0, FloatNear(gelu(1), 1e-6f), FloatNear(18, 1e-5f),
                          FloatNear(46, 1e-5f)));
  std::vector<float> kept = aux.read();
  EXPECT_THAT((std::vector{kept[0], kept[1], kept[8], kept[9]}),
              ElementsAre(0, 1, 18, 46));
}

TEST(Products, EpiloguesBackward) {
  Product product;
  DeviceFloats x(a), y(b), d(Unset{4}), bias(Unset{2});
  DeviceFloats aux({0, 0.5f, 0, 0, 0, 0, 0, 0, -1, 20});
  EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_EPILOGUE,
                           CUBLASLT_EPILOGUE_DGELU_BGRAD));
  EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data));
  EXPECT_LT_OK(
      product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux.data));
  EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t(8)));
  EXPECT_LT_OK(product.run(x, product.matrix(2, 3, 2), y,
                           product.matrix(3, 2, 3), d,
                           product.matrix(2, 2, 2)));
  std::vector<float> result = d.read(), sums = bias.read();
  const float products[] = {14, 32, 32, 77}, at[] = {0, 0.5f, -1, 20};
  for (int i = 0; i < 4; ++i) {
    double slope = (gelu(at[i] + 1e-2f) - gelu(at[i] - 1e-2f)) / 2e-2;
    EXPECT_NEAR(result[i], products[i] * slope, 1e-3 * products[i]);
  }
  EXPECT_FLOAT_EQ(sums[0], result[0] + result[2]);
  EXPECT_FLOAT_EQ(sums[1], result[1] + result[3]);
}

TEST(Products, GradientsOfBiasesFromFactors) {
  for (auto epilogue : {CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB}) {
    Product product;
    // b is the transpose of a.
    DeviceFloats x(a), y(a), d(Unset{4}), bias(Unset{2});
    EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T));
    EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
    EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data));
    EXPECT_LT_OK(product.run(x, product.matrix(2, 3, 2), y,
                             product.matrix(2, 3, 2), d,
                             product.matrix(2, 2, 2)));
    EXPECT_THAT(bias.read(), ElementsAre(6, 15));
  }
}

TEST(Products, RefuseSumsOfFactorsOnlyWhenLaunched) {
  for (auto epilogue : {CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB}) {
    Product product;
    DeviceFloats x(b), y(b), d(Unset{4}), bias(Unset{2});
    EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T));
    EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
    EXPECT_LT_OK(product.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data));
    cublasLtMatrixLayout_t factor = product.matrix(3, 2, 3),
                           result = product.matrix(2, 2, 2);
    cublasLtMatmulHeuristicResult_t proposal;
    EXPECT_LT_OK(product.propose(factor, factor, result, proposal));
    EXPECT_EQ(product.run(x, factor, y, factor, d, result),
              CUBLAS_STATUS_NOT_SUPPORTED);
  }
}

TEST(Products, RoundFactorsToTf32) {
  Product product(CUBLAS_COMPUTE_32F_FAST_TF32);
  DeviceFloats x({1 + 0x1p-12f}), y({1}), d(Unset{1});
  cublasLtMatrixLayout_t one = product.matrix(1, 1, 1);
  EXPECT_LT_OK(product.run(x, one, y, one, d, one));
  EXPECT_THAT(d.read(), ElementsAre(1));
}

TEST(Products, RefuseWhatIsNotKnown) {
  Product product;
  int8_t fast = 1;
  EXPECT_EQ(product.set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(product.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int32_t(8)),
            CUBLAS_STATUS_INVALID_VALUE);
  DeviceFloats x(a), y(b), d(Unset{4});
  EXPECT_EQ(product.run(x, product.matrix(2, 3, 2), y, product.matrix(2, 3, 2),
                        d, product.matrix(2, 2, 2)),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(product.run(x, product.matrix(2, 3, 1), y, product.matrix(3, 2, 3),
                        d, product.matrix(2, 2, 2)),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_LT_OK(
      product.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS));
  EXPECT_EQ(product.run(x, product.matrix(2, 3, 2), y, product.matrix(3, 2, 3),
                        d, product.matrix(2, 2, 2)),
            CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST(Products, NeedTheWorkspaceThatTheyAskFor) {
  Product product;
  cublasLtMatrixLayout_t one = product.matrix(1, 1, 1);
  uint64_t room = 16 << 20;
  EXPECT_LT_OK(cublasLtMatmulPreferenceSetAttribute(
      product.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, 8));
  cublasLtMatmulHeuristicResult_t proposals[8];
  int count = 0;
  EXPECT_LT_OK(cublasLtMatmulAlgoGetHeuristic(
      product.handle, product.description, one, one, one, one,
      product.preference, 8, proposals, &count));
  ASSERT_EQ(count, 3);
  DeviceFloats x({2}), d(Unset{1});
  float alpha = 1, beta = 0;
  EXPECT_EQ(cublasLtMatmul(product.handle, product.description, &alpha, x.data,
                           one, x.data, one, &beta, d.data, one, d.data, one,
                           &proposals[1].algo, nullptr, 0, nullptr),
            CUBLAS_STATUS_INVALID_VALUE);
}

} // namespace
