//===- Gemm.cpp - GEMMs on a GPU --------------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/gemm/Gemm.h"

#include "cuda/gemm/GemmTuner.h"

namespace weft::runtime {
namespace {

class CudaGemm final : public CudaOperation {
public:
  CudaGemm(GemmDescriptors descriptors, const LtPointers &pointers,
           const GemmAlgorithm &algorithm)
      : descriptors(std::move(descriptors)), pointers(pointers),
        algorithm(algorithm) {}

  size_t workspaceBytes() const override { return algorithm.workspaceBytes; }
  void bindWorkspace(void *memory) override { workspace = memory; }
  Status enqueue(cudaStream_t stream) override {
    return cublasStatus(descriptors.library().library(),
                        descriptors.run(pointers, algorithm.code, workspace,
                                        algorithm.workspaceBytes, stream),
                        "cublasLtMatmul");
  }

private:
  const GemmDescriptors descriptors;
  const LtPointers pointers;
  const GemmAlgorithm algorithm;
  void *workspace = nullptr;
};

} // namespace

static Result<std::unique_ptr<CudaOperation>>
bind(const CudaGemmProblem &problem, const CudaGemmPointers &pointers,
     const CudaContext &context, GemmTuner &tuner) {
  WEFT_ASSIGN_OR_RETURN(const LtProblem lt, ltProblemOf(problem));
  const LtPointers bound{lt.aIsRhs ? pointers.rhs : pointers.lhs,
                         lt.aIsRhs ? pointers.lhs : pointers.rhs, pointers.out,
                         pointers.bias, pointers.aux};
  WEFT_ASSIGN_OR_RETURN(std::shared_ptr<const LtHandle> handle,
                        LtHandle::shared(context.cublasLt, context.device));
  WEFT_ASSIGN_OR_RETURN(GemmDescriptors descriptors,
                        GemmDescriptors::create(std::move(handle), lt, bound));
  WEFT_ASSIGN_OR_RETURN(const GemmAlgorithm algorithm,
                        tuner.choose(lt, bound, descriptors, context));
  return std::make_unique<CudaGemm>(std::move(descriptors), bound, algorithm);
}

Result<std::unique_ptr<CudaOperation>>
bindCudaGemm(const CudaGemmProblem &problem, const CudaGemmPointers &pointers,
             const CudaContext &context, GemmTuner &tuner) {
  Result<std::unique_ptr<CudaOperation>> bound =
      bind(problem, pointers, context, tuner);
  if (bound.ok())
    return bound;
  Status status = bound.status().withContext(toString(problem));
  // Kernels can do what an epilogue does.
  if (status.code() == StatusCode::Unimplemented &&
      problem.epilogue != plan::GemmEpilogue::None)
    return unimplemented(status.message() +
                         "; compile with --fuse-epilogues=false");
  return status;
}

Result<std::unique_ptr<CudaOperation>>
bindCudaGemm(const CudaGemmProblem &problem, const CudaGemmPointers &pointers,
             const CudaContext &context) {
  // What one rank has measured, the others of the process know.
  static const Result<std::unique_ptr<GemmTuner>> tuner =
      GemmTuner::fromEnvironment();
  if (!tuner.ok())
    return tuner.status();
  return bindCudaGemm(problem, pointers, context, **tuner);
}

} // namespace weft::runtime
