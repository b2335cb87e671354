//===- GemmDescriptors.cpp - A GEMM as cuBLASLt's objects -------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/gemm/GemmDescriptors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace weft::runtime {

Status cublasStatus(const CublasLt &library, cublasStatus_t status,
                    std::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS)
    return {};
  const std::string message =
      fmt::format("{}: {}", call, library.getStatusString(status));
  if (status == CUBLAS_STATUS_NOT_SUPPORTED)
    return unimplemented(message);
  if (status == CUBLAS_STATUS_ALLOC_FAILED)
    return resourceExhausted(message);
  return internalError(message);
}

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

Result<std::shared_ptr<const LtHandle>>
LtHandle::shared(const CublasLt &library, int device) {
  using Key = std::pair<decltype(library.create), int>;
  static std::mutex mutex;
  static std::map<Key, std::weak_ptr<const LtHandle>> handles;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const LtHandle> &known = handles[{library.create, device}];
  if (std::shared_ptr<const LtHandle> handle = known.lock())
    return handle;
  const std::shared_ptr<LtHandle> made(new LtHandle(library));
  WEFT_RETURN_IF_ERROR(
      cublasStatus(library, library.create(&made->handle), "cublasLtCreate"));
  known = made;
  return std::shared_ptr<const LtHandle>(made);
}

LtHandle::~LtHandle() {
  if (handle)
    (void)functions.destroy(handle);
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

GemmDescriptors::GemmDescriptors(GemmDescriptors &&other) noexcept
    : handle(std::move(other.handle)),
      matmul(std::exchange(other.matmul, nullptr)),
      a(std::exchange(other.a, nullptr)), b(std::exchange(other.b, nullptr)),
      d(std::exchange(other.d, nullptr)), isDouble(other.isDouble),
      accumulates(other.accumulates) {}

GemmDescriptors::~GemmDescriptors() {
  if (!handle)
    return;
  const CublasLt &library = handle->library();
  for (cublasLtMatrixLayout_t layout : {a, b, d})
    if (layout)
      (void)library.matrixLayoutDestroy(layout);
  if (matmul)
    (void)library.matmulDescDestroy(matmul);
}

template <typename T>
Status GemmDescriptors::set(cublasLtMatmulDescAttributes_t attribute, T value) {
  const CublasLt &library = handle->library();
  return cublasStatus(
      library,
      library.matmulDescSetAttribute(matmul, attribute, &value, sizeof(value)),
      fmt::format("cublasLtMatmulDescSetAttribute({})",
                  static_cast<int>(attribute)));
}

Status GemmDescriptors::describe(const LtMatrix &matrix, int64_t batch,
                                 cublasLtMatrixLayout_t &layout) {
  const CublasLt &library = handle->library();
  WEFT_RETURN_IF_ERROR(cublasStatus(
      library,
      library.matrixLayoutCreate(
          &layout, cudaTypeOf(matrix.dtype), static_cast<uint64_t>(matrix.rows),
          static_cast<uint64_t>(matrix.columns), matrix.leading),
      "cublasLtMatrixLayoutCreate"));
  if (batch == 1)
    return {};
  const auto count = static_cast<int32_t>(batch);
  if (count != batch)
    return unimplemented(fmt::format("a batch of {} GEMMs; cuBLASLt has at "
                                     "most 2147483647",
                                     batch));
  WEFT_RETURN_IF_ERROR(cublasStatus(
      library,
      library.matrixLayoutSetAttribute(
          layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
      "cublasLtMatrixLayoutSetAttribute"));
  return cublasStatus(library,
                      library.matrixLayoutSetAttribute(
                          layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                          &matrix.batchStride, sizeof(matrix.batchStride)),
                      "cublasLtMatrixLayoutSetAttribute");
}

Result<GemmDescriptors>
GemmDescriptors::create(std::shared_ptr<const LtHandle> handle,
                        const LtProblem &problem, const LtPointers &pointers) {
  GemmDescriptors made(std::move(handle));
  const CublasLt &library = made.handle->library();
  made.isDouble = problem.scale == DType::F64;
  made.accumulates = problem.accumulate;
  WEFT_RETURN_IF_ERROR(
      cublasStatus(library,
                   library.matmulDescCreate(&made.matmul, problem.compute,
                                            cudaTypeOf(problem.scale)),
                   "cublasLtMatmulDescCreate"));
  WEFT_RETURN_IF_ERROR(made.describe(problem.a, problem.batch, made.a));
  WEFT_RETURN_IF_ERROR(made.describe(problem.b, problem.batch, made.b));
  WEFT_RETURN_IF_ERROR(made.describe(problem.d, problem.batch, made.d));
  const auto operationOf = [](const LtMatrix &matrix) {
    return matrix.isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  WEFT_RETURN_IF_ERROR(
      made.set(CUBLASLT_MATMUL_DESC_TRANSA, operationOf(problem.a)));
  WEFT_RETURN_IF_ERROR(
      made.set(CUBLASLT_MATMUL_DESC_TRANSB, operationOf(problem.b)));
  WEFT_RETURN_IF_ERROR(
      made.set(CUBLASLT_MATMUL_DESC_EPILOGUE, problem.epilogue));
  if (problem.processors != 0)
    WEFT_RETURN_IF_ERROR(made.set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET,
                                  static_cast<int32_t>(problem.processors)));
  if (problem.hasBias) {
    WEFT_RETURN_IF_ERROR(
        made.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointers.bias));
    WEFT_RETURN_IF_ERROR(made.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
                                  cudaTypeOf(problem.bias)));
  }
  if (problem.hasAux) {
    WEFT_RETURN_IF_ERROR(
        made.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, pointers.aux));
    WEFT_RETURN_IF_ERROR(
        made.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, problem.d.leading));
    WEFT_RETURN_IF_ERROR(made.set(
        CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, problem.d.batchStride));
  }
  return made;
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

uint32_t alignmentOf(const void *address) {
  const auto bits = reinterpret_cast<uintptr_t>(address) | 256;
  return static_cast<uint32_t>(bits & -bits);
}

Result<std::vector<cublasLtMatmulHeuristicResult_t>>
GemmDescriptors::algorithms(const LtPointers &pointers, size_t workspaceBytes,
                            int count) const {
  const CublasLt &library = handle->library();
  cublasLtMatmulPreference_t made = nullptr;
  WEFT_RETURN_IF_ERROR(cublasStatus(library,
                                    library.matmulPreferenceCreate(&made),
                                    "cublasLtMatmulPreferenceCreate"));
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                        decltype(library.matmulPreferenceDestroy)>
      preference(made, library.matmulPreferenceDestroy);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                          auto value) {
    return cublasStatus(library,
                        library.matmulPreferenceSetAttribute(
                            made, attribute, &value, sizeof(value)),
                        fmt::format("cublasLtMatmulPreferenceSetAttribute({})",
                                    static_cast<int>(attribute)));
  };
  WEFT_RETURN_IF_ERROR(prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                              static_cast<uint64_t>(workspaceBytes)));
  WEFT_RETURN_IF_ERROR(
      prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
             static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
  for (const auto &[attribute, address] :
       {std::pair{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, pointers.a},
        std::pair{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, pointers.b},
        std::pair{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                  static_cast<const void *>(pointers.d)},
        std::pair{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
                  static_cast<const void *>(pointers.d)}})
    WEFT_RETURN_IF_ERROR(prefer(attribute, alignmentOf(address)));

  std::vector<cublasLtMatmulHeuristicResult_t> results(
      static_cast<size_t>(count));
  int found = 0;
  const cublasStatus_t status = library.matmulAlgoGetHeuristic(
      handle->get(), matmul, a, b, d, d, made, count, results.data(), &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED)
    found = 0;
  else
    WEFT_RETURN_IF_ERROR(
        cublasStatus(library, status, "cublasLtMatmulAlgoGetHeuristic"));
  results.resize(static_cast<size_t>(found));
  std::erase_if(results, [&](const cublasLtMatmulHeuristicResult_t &result) {
    return result.state != CUBLAS_STATUS_SUCCESS ||
           result.workspaceSize > workspaceBytes;
  });
  return results;
}

Result<size_t>
GemmDescriptors::check(const cublasLtMatmulAlgo_t &algorithm) const {
  const CublasLt &library = handle->library();
  cublasLtMatmulHeuristicResult_t result = {};
  WEFT_RETURN_IF_ERROR(
      cublasStatus(library,
                   library.matmulAlgoCheck(handle->get(), matmul, a, b, d, d,
                                           &algorithm, &result),
                   "cublasLtMatmulAlgoCheck"));
  return result.workspaceSize;
}

cublasStatus_t GemmDescriptors::run(const LtPointers &pointers,
                                    const cublasLtMatmulAlgo_t &algorithm,
                                    void *workspace, size_t workspaceBytes,
                                    cudaStream_t stream) const {
  // In the type of the scale.
  const double doubles[] = {1, accumulates ? 1.0 : 0.0};
  const float floats[] = {1, accumulates ? 1.0f : 0.0f};
  const void *alpha = isDouble ? static_cast<const void *>(&doubles[0])
                               : static_cast<const void *>(&floats[0]);
  const void *beta = isDouble ? static_cast<const void *>(&doubles[1])
                              : static_cast<const void *>(&floats[1]);
  return handle->library().matmul(handle->get(), matmul, alpha, pointers.a, a,
                                  pointers.b, b, beta, pointers.d, d,
                                  pointers.d, d, &algorithm, workspace,
                                  workspaceBytes, stream);
}

} // namespace weft::runtime
