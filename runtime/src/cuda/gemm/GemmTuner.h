//===- GemmTuner.h - Which algorithm computes a GEMM ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuBLASLt proposes algorithms by a guess at their speed. At load each of the
// first 32 is timed on the GEMM's shape, with random numbers and a cold
// cache, and the fastest is kept, in this process and on disk
// (AlgorithmCache.h). WEFT_CUDA_TUNE=off takes the first proposal and neither
// measures nor reads the file; so does a session that must be deterministic,
// and a GEMM that has not the whole device, of which a measurement alone
// would tell nothing. Processes of one job choose together
// (SharedAlgorithms.h).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_GEMM_GEMMTUNER_H
#define WEFT_RUNTIME_SRC_CUDA_GEMM_GEMMTUNER_H

#include "cuda/gemm/AlgorithmCache.h"
#include "cuda/gemm/GemmDescriptors.h"
#include "cuda/platform/Context.h"

#include <functional>
#include <memory>

namespace weft::runtime {

/// An algorithm and the workspace that it needs for its problem.
struct GemmAlgorithm {
  cublasLtMatmulAlgo_t code = {};
  size_t workspaceBytes = 0;
};

/// The most that an algorithm may want: what NVIDIA recommends for the
/// processor (rule C3).
size_t gemmWorkspaceLimit(int processor);

/// Milliseconds of one run of an algorithm, or none if it fails.
using GemmTimer =
    std::function<std::optional<float>(const GemmAlgorithm &algorithm)>;

/// The fastest of the proposals, of equals the first; none if all fail.
std::optional<GemmAlgorithm>
fastestOf(const std::vector<GemmAlgorithm> &proposals, const GemmTimer &time);

class GemmTuner {
public:
  /// Null: proposals are taken as they come.
  explicit GemmTuner(std::unique_ptr<AlgorithmCache> cache)
      : cache(std::move(cache)) {}

  /// As WEFT_CUDA_TUNE says: "on", as without it, or "off".
  static Result<std::unique_ptr<GemmTuner>> fromEnvironment();

  /// An algorithm for a GEMM that is run with these descriptors, made of
  /// `pointers`. Unimplemented if cuBLASLt has none.
  Result<GemmAlgorithm> choose(const LtProblem &problem,
                               const LtPointers &pointers,
                               const GemmDescriptors &descriptors,
                               const CudaContext &context);

private:
  Result<GemmAlgorithm> chooseAlone(const std::string &key,
                                    const LtProblem &problem,
                                    const LtPointers &pointers,
                                    const GemmDescriptors &descriptors,
                                    const CudaContext &context);
  Result<std::optional<GemmAlgorithm>>
  askFirst(const std::string &key, const GemmDescriptors &descriptors,
           const CudaContext &context);

  std::unique_ptr<AlgorithmCache> cache;
  /// Ranks that are threads do not measure at once.
  std::mutex measuring;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_GEMM_GEMMTUNER_H
