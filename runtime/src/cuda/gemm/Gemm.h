//===- Gemm.h - GEMMs on a GPU ----------------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One GEMM of a plan by cuBLASLt, bound to device memory:
//
//   GemmLayout       what the GEMM is in cuBLASLt's terms
//   GemmDescriptors  the same as its objects
//   GemmTuner        which of its algorithms; AlgorithmCache keeps the answer
//
// Always cublasLtMatmul with a workspace that the stream owns: results are the
// same in every run with the same algorithm, and capturing a graph allocates
// nothing (rules C3 and C4).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_GEMM_GEMM_H
#define WEFT_RUNTIME_SRC_CUDA_GEMM_GEMM_H

#include "cuda/gemm/GemmLayout.h"
#include "cuda/platform/Context.h"
#include "cuda/platform/Operation.h"

#include <memory>

namespace weft::runtime {

class GemmTuner;

/// Device addresses; null where the epilogue has nothing.
struct CudaGemmPointers {
  const void *lhs = nullptr;
  const void *rhs = nullptr;
  void *out = nullptr;
  void *bias = nullptr;
  void *aux = nullptr;
};

/// Unimplemented for what cuBLASLt lacks, with the GEMM in the message.
Result<std::unique_ptr<CudaOperation>>
bindCudaGemm(const CudaGemmProblem &problem, const CudaGemmPointers &pointers,
             const CudaContext &context, GemmTuner &tuner);
/// With the tuner of the process, which the environment sets up.
Result<std::unique_ptr<CudaOperation>>
bindCudaGemm(const CudaGemmProblem &problem, const CudaGemmPointers &pointers,
             const CudaContext &context);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_GEMM_GEMM_H
