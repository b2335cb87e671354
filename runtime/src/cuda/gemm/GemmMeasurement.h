//===- GemmMeasurement.h - The time of a GEMM -------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a GEMM on memory of its own: random numbers, because zeros take less
// power and run faster than any data, and a cache that holds none of them, as
// in a step.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_GEMM_GEMMMEASUREMENT_H
#define WEFT_RUNTIME_SRC_CUDA_GEMM_GEMMMEASUREMENT_H

#include "cuda/gemm/GemmDescriptors.h"
#include "cuda/platform/Context.h"
#include "cuda/platform/DeviceScratch.h"
#include "cuda/platform/Handles.h"

#include <memory>
#include <optional>

namespace weft::runtime {

struct GemmAlgorithm;

class GemmMeasurement {
public:
  static Result<std::unique_ptr<GemmMeasurement>>
  prepare(const LtProblem &problem, std::shared_ptr<const LtHandle> handle,
          size_t workspaceLimit, const CudaContext &context);
  ~GemmMeasurement();

  /// The median of a few runs on the compute stream; none if one fails.
  std::optional<float> milliseconds(const GemmAlgorithm &algorithm);
  /// Why the last one that failed did.
  const Status &lastFailure() const { return failure; }

private:
  explicit GemmMeasurement(const CudaContext &context)
      : context(context), memory(context) {}
  Status allocate(const LtProblem &problem);
  Result<float> timeOnce(const GemmAlgorithm &algorithm);

  const CudaContext &context;
  DeviceScratch memory;
  LtPointers pointers;
  std::optional<GemmDescriptors> descriptors;
  void *workspace = nullptr;
  /// Twice what the second cache holds: writing it leaves nothing else there.
  void *flush = nullptr;
  size_t flushBytes = 0;
  EventOwner begin, end;
  Status failure;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_GEMM_GEMMMEASUREMENT_H
