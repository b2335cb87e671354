//===- CublasLt.cpp - Exported: cuBLASLt ----------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Product.h"
#include "cudart/Emulator.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

using namespace weft::emulator;

namespace {

/// What the opaque handles point to.
struct Preference {
  uint64_t workspace = 0;
  /// Of A, B, C and D.
  uint32_t alignments[4] = {256, 256, 256, 256};
};

Matrix &matrixOf(cublasLtMatrixLayout_t handle) {
  return *reinterpret_cast<Matrix *>(handle);
}
Operation &operationOf(cublasLtMatmulDesc_t handle) {
  return *reinterpret_cast<Operation *>(handle);
}
Preference &preferenceOf(cublasLtMatmulPreference_t handle) {
  return *reinterpret_cast<Preference *>(handle);
}

/// An attribute is a value of one size.
template <typename T>
cublasStatus_t take(T &target, const void *value, size_t bytes) {
  if (!value || bytes != sizeof(T))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&target, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
template <typename T>
cublasStatus_t take(std::optional<T> &target, const void *value, size_t bytes) {
  return take(target.emplace(), value, bytes);
}
/// An attribute that only this value of is known.
template <typename T>
cublasStatus_t expect(T known, const void *value, size_t bytes) {
  T given;
  cublasStatus_t status = take(given, value, bytes);
  return status != CUBLAS_STATUS_SUCCESS ? status
         : given == known                ? status
                                         : CUBLAS_STATUS_NOT_SUPPORTED;
}

// Three ways to the same numbers, of which two want a workspace.
constexpr uint64_t algorithmMark = 0x77656674;
constexpr size_t workspaces[] = {0, 1 << 20, 8 << 20};

cublasStatus_t failed(const std::string &problem,
                      cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE) {
  std::fprintf(stderr, "CUDA emulator: cuBLASLt: %s\n", problem.c_str());
  return status;
}

Product productOf(cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                  cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                  cublasLtMatrixLayout_t d) {
  Product product;
  product.operation = operationOf(operation);
  product.a = matrixOf(a);
  product.b = matrixOf(b);
  product.c = matrixOf(c);
  product.d = matrixOf(d);
  return product;
}

cublasLtMatmulHeuristicResult_t result(uint64_t number,
                                       const uint32_t (&alignments)[4]) {
  cublasLtMatmulHeuristicResult_t result;
  std::memset(&result, 0, sizeof result);
  result.algo.data[0] = algorithmMark;
  result.algo.data[1] = number;
  // What an algorithm was proposed for, it may count on.
  for (int i = 0; i < 4; ++i)
    result.algo.data[2] |= uint64_t(std::min(alignments[i], 16u)) << 16 * i;
  result.workspaceSize = workspaces[number];
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = 1;
  return result;
}

/// Three ways, the first of which WEFT_EMULATOR_ALGORITHM says: a library that
/// guesses differently elsewhere.
uint64_t proposal(uint64_t index) {
  const char *first = std::getenv("WEFT_EMULATOR_ALGORITHM");
  return (index + (first ? std::strtoull(first, nullptr, 10) : 0)) %
         std::size(workspaces);
}

bool isMisaligned(const void *pointer, uint64_t bytes) {
  return bytes && reinterpret_cast<uintptr_t>(pointer) % bytes;
}

/// A line for each product in the file that WEFT_EMULATOR_PRODUCTS names.
void log(const Product &product, uint64_t algorithm) {
  static const char *const path = std::getenv("WEFT_EMULATOR_PRODUCTS");
  if (!path)
    return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (std::FILE *file = std::fopen(path, "a")) {
    std::fprintf(file, "%llu x %llu x %llu algorithm %llu processors %d\n",
                 static_cast<unsigned long long>(product.m()),
                 static_cast<unsigned long long>(product.n()),
                 static_cast<unsigned long long>(product.k()),
                 static_cast<unsigned long long>(algorithm),
                 product.operation.processors);
    std::fclose(file);
  }
}

bool isAlgorithm(const cublasLtMatmulAlgo_t &algorithm) {
  return algorithm.data[0] == algorithmMark &&
         algorithm.data[1] < std::size(workspaces);
}

double numberAt(cudaDataType type, const void *value) {
  return type == CUDA_R_64F ? *static_cast<const double *>(value)
                            : *static_cast<const float *>(value);
}

} // namespace

extern "C" {

WEFT_EMULATOR_EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new char);
  return CUBLAS_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<char *>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

WEFT_EMULATOR_EXPORT const char *
cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "success";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "an unsupported value or parameter was passed to the function";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "the requested functionality is not supported";
  case CUBLAS_STATUS_EXECUTION_FAILED:
    return "the function failed to launch on the GPU";
  default:
    return "unknown status";
  }
}

WEFT_EMULATOR_EXPORT cublasStatus_t
cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                           uint64_t rows, uint64_t columns, int64_t leading) {
  auto matrix = new Matrix;
  matrix->type = type;
  matrix->rows = rows;
  matrix->columns = columns;
  matrix->leading = leading;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(matrix);
  return CUBLAS_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cublasStatus_t
cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &matrixOf(layout);
  return CUBLAS_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name,
    const void *value, size_t bytes) {
  Matrix &matrix = matrixOf(layout);
  switch (name) {
  case CUBLASLT_MATRIX_LAYOUT_TYPE:
    return take(matrix.type, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_ORDER:
    return take(matrix.order, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_ROWS:
    return take(matrix.rows, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_COLS:
    return take(matrix.columns, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_LD:
    return take(matrix.leading, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return take(matrix.batches, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return take(matrix.batchStride, value, bytes);
  default:
    return CUBLAS_STATUS_INVALID_VALUE;
  }
}

WEFT_EMULATOR_EXPORT cublasStatus_t
cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *description,
                         cublasComputeType_t compute, cudaDataType scale) {
  auto operation = new Operation;
  operation->compute = compute;
  operation->scale = scale;
  *description = reinterpret_cast<cublasLtMatmulDesc_t>(operation);
  return CUBLAS_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cublasStatus_t
cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete &operationOf(description);
  return CUBLAS_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t name,
    const void *value, size_t bytes) {
  Operation &operation = operationOf(description);
  switch (name) {
  case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
    return take(operation.compute, value, bytes);
  case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
    return take(operation.scale, value, bytes);
  case CUBLASLT_MATMUL_DESC_POINTER_MODE:
    return expect(CUBLASLT_POINTER_MODE_HOST, value, bytes);
  case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET:
    return take(operation.processors, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return take(operation.transposeA, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return take(operation.transposeB, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSC:
    return expect(CUBLAS_OP_N, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return take(operation.epilogue, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return take(operation.bias, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
    return take(operation.biasStride, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return take(operation.biasType, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return take(operation.aux, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return take(operation.auxLeading, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
    return take(operation.auxStride, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE:
    return take(operation.auxType, value, bytes);
  default:
    return CUBLAS_STATUS_INVALID_VALUE;
  }
}

WEFT_EMULATOR_EXPORT cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &preferenceOf(preference);
  return CUBLAS_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                     cublasLtMatmulPreferenceAttributes_t name,
                                     const void *value, size_t bytes) {
  uint32_t ignored;
  Preference &target = preferenceOf(preference);
  switch (name) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return take(target.workspace, value, bytes);
  case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
    return take(ignored, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    return take(target.alignments[0], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    return take(target.alignments[1], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    return take(target.alignments[2], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    return take(target.alignments[3], value, bytes);
  default:
    return CUBLAS_STATUS_INVALID_VALUE;
  }
}

WEFT_EMULATOR_EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference,
    int requested, cublasLtMatmulHeuristicResult_t results[], int *returned) {
  *returned = 0;
  std::string problem = productOf(operation, a, b, c, d).problem();
  if (!problem.empty())
    return failed(problem, CUBLAS_STATUS_NOT_SUPPORTED);
  const Preference &given = preferenceOf(preference);
  for (uint64_t i = 0; i < std::size(workspaces) && *returned < requested; ++i)
    if (workspaces[proposal(i)] <= given.workspace)
      results[(*returned)++] = result(proposal(i), given.alignments);
  return CUBLAS_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cublasStatus_t cublasLtMatmulAlgoCheck(
    cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm,
    cublasLtMatmulHeuristicResult_t *out) {
  if (!isAlgorithm(*algorithm) ||
      !productOf(operation, a, b, c, d).problem().empty())
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *out = result(algorithm->data[1], {});
  out->algo = *algorithm;
  return CUBLAS_STATUS_SUCCESS;
}

WEFT_EMULATOR_EXPORT cublasStatus_t
cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
               const void *alpha, const void *aData, cublasLtMatrixLayout_t a,
               const void *bData, cublasLtMatrixLayout_t b, const void *beta,
               const void *cData, cublasLtMatrixLayout_t c, void *dData,
               cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algorithm,
               void *workspace, size_t workspaceBytes, cudaStream_t stream) {
  Product product = productOf(operation, a, b, c, d);
  std::string problem = product.problem();
  if (!problem.empty())
    return failed(problem);
  problem = product.problemOfLaunch();
  if (!problem.empty())
    return failed(problem, CUBLAS_STATUS_NOT_SUPPORTED);
  if (algorithm && !isAlgorithm(*algorithm))
    return failed("an algorithm of another library");
  size_t used = algorithm ? workspaces[algorithm->data[1]] : 0;
  if (used > workspaceBytes)
    return failed("the algorithm needs " + std::to_string(used) +
                  " bytes of workspace, and there are " +
                  std::to_string(workspaceBytes));
  // Libraries ask for the last error after a launch, whoever has left it.
  if (const cudaError_t left = leftError(); left != cudaSuccess)
    return failed(std::string("an earlier call has left ") +
                  cudaGetErrorName(left) +
                  ", which would be taken for the outcome of the launch");
  if (workspace && isMisaligned(workspace, 256))
    return failed("the workspace is not aligned to 256 bytes");
  if (algorithm) {
    const void *pointers[] = {aData, bData, cData, dData};
    for (int i = 0; i < 4; ++i)
      if (isMisaligned(pointers[i], algorithm->data[2] >> 16 * i & 0xffff))
        return failed(std::string("the algorithm was proposed for a matrix ") +
                      "ABCD"[i] + " that is better aligned");
    log(product, algorithm->data[1]);
  }
  product.alpha = numberAt(product.operation.scale, alpha);
  product.beta = numberAt(product.operation.scale, beta);
  product.aData = aData;
  product.bData = bData;
  product.cData = cData;
  product.dData = dData;
  cudaError_t error = enqueue(stream, "product", [=] {
    product.checkMemory();
    // Whoever keeps something in the workspace loses it.
    checkAccess(workspace, used, "the workspace");
    if (used)
      std::memset(workspace, 0xff, used);
    product.compute();
  });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                              : CUBLAS_STATUS_EXECUTION_FAILED;
}

} // extern "C"
