//===- Product.h - A matmul with its epilogue -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_CUBLASLT_PRODUCT_H
#define WEFT_EMULATOR_CUBLASLT_PRODUCT_H

#include <cublasLt.h>

#include <cstdint>
#include <optional>
#include <string>

namespace weft::emulator {

/// Matrices of a batch in memory.
struct Matrix {
  cudaDataType type = CUDA_R_32F;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  cublasLtOrder_t order = CUBLASLT_ORDER_COL;
  int32_t batches = 1;
  int64_t batchStride = 0;

  int64_t offset(uint64_t row, uint64_t column) const {
    return order == CUBLASLT_ORDER_COL ? row + column * leading
                                       : row * leading + column;
  }
  /// Elements from the first to the last.
  int64_t extent() const {
    return rows && columns
               ? (batches - 1) * batchStride + offset(rows - 1, columns - 1) + 1
               : 0;
  }
};

/// How it is computed, and what is done to the sums.
struct Operation {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType scale = CUDA_R_32F;
  cublasOperation_t transposeA = CUBLAS_OP_N, transposeB = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr;
  int64_t biasStride = 0;
  std::optional<cudaDataType> biasType;
  void *aux = nullptr;
  int64_t auxLeading = 0, auxStride = 0;
  std::optional<cudaDataType> auxType;
  int32_t processors = 0;

  bool hasBias() const;
  bool hasBiasGradient() const;
  bool hasAux() const;
  bool isGelu() const;
  bool isGeluGradient() const;
};

/// d = alpha op(a) op(b) + beta c.
struct Product {
  Operation operation;
  Matrix a, b, c, d;
  double alpha = 1, beta = 0;
  const void *aData = nullptr, *bData = nullptr, *cData = nullptr;
  void *dData = nullptr;

  uint64_t m() const { return d.rows; }
  uint64_t n() const { return d.columns; }
  uint64_t k() const;

  /// What is wrong with it, or nothing.
  std::string problem() const;
  /// The same for what has an algorithm, but fails when it is launched.
  std::string problemOfLaunch() const;
  /// Throws Fault when a matrix leaves its allocation.
  void checkMemory() const;
  void compute() const;
};

/// Bytes of an element, or 0.
size_t bytesOf(cudaDataType type);

} // namespace weft::emulator

#endif // WEFT_EMULATOR_CUBLASLT_PRODUCT_H
