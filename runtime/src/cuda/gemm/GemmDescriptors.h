//===- GemmDescriptors.h - A GEMM as cuBLASLt's objects ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_GEMM_GEMMDESCRIPTORS_H
#define WEFT_RUNTIME_SRC_CUDA_GEMM_GEMMDESCRIPTORS_H

#include "cuda/gemm/GemmLayout.h"
#include "cuda/platform/Libraries.h"

#include <memory>
#include <vector>

namespace weft::runtime {

/// Success, or "cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED".
Status cublasStatus(const CublasLt &library, cublasStatus_t status,
                    std::string_view call);

/// The library's state on one device; threads may share it.
class LtHandle : public std::enable_shared_from_this<LtHandle> {
public:
  /// The one of the current device, which is `device`, while somebody has it.
  static Result<std::shared_ptr<const LtHandle>> shared(const CublasLt &library,
                                                        int device);
  ~LtHandle();

  const CublasLt &library() const { return functions; }
  cublasLtHandle_t get() const { return handle; }

private:
  explicit LtHandle(const CublasLt &library) : functions(library) {}

  const CublasLt functions;
  cublasLtHandle_t handle = nullptr;
};

/// Addresses in the terms of LtProblem; `d` is read too if it accumulates.
struct LtPointers {
  const void *a = nullptr;
  const void *b = nullptr;
  void *d = nullptr;
  void *bias = nullptr;
  void *aux = nullptr;
};

/// The largest power of two up to 256 that an address is a multiple of.
uint32_t alignmentOf(const void *address);

/// What a GEMM needs beside pointers, in host memory.
class GemmDescriptors {
public:
  /// The epilogue's pointers are part of them.
  static Result<GemmDescriptors> create(std::shared_ptr<const LtHandle> handle,
                                        const LtProblem &problem,
                                        const LtPointers &pointers);
  GemmDescriptors(GemmDescriptors &&other) noexcept;
  GemmDescriptors &operator=(GemmDescriptors &&) = delete;
  ~GemmDescriptors();

  /// Up to `count` algorithms that can do it with these pointers and so much
  /// workspace, the most promising first. Sums are never rounded to 16 bits in
  /// between.
  Result<std::vector<cublasLtMatmulHeuristicResult_t>>
  algorithms(const LtPointers &pointers, size_t workspaceBytes,
             int count) const;

  /// The workspace that an algorithm needs for this problem; an error if this
  /// version of the library cannot use it (rule C5).
  Result<size_t> check(const cublasLtMatmulAlgo_t &algorithm) const;

  /// Puts the GEMM on the stream.
  cublasStatus_t run(const LtPointers &pointers,
                     const cublasLtMatmulAlgo_t &algorithm, void *workspace,
                     size_t workspaceBytes, cudaStream_t stream) const;

  const LtHandle &library() const { return *handle; }

private:
  explicit GemmDescriptors(std::shared_ptr<const LtHandle> handle)
      : handle(std::move(handle)) {}
  Status describe(const LtMatrix &matrix, int64_t batch,
                  cublasLtMatrixLayout_t &layout);
  template <typename T>
  Status set(cublasLtMatmulDescAttributes_t attribute, T value);

  std::shared_ptr<const LtHandle> handle;
  cublasLtMatmulDesc_t matmul = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  bool isDouble = false, accumulates = false;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_GEMM_GEMMDESCRIPTORS_H
