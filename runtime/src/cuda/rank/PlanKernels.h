//===- PlanKernels.h - The compiled kernels of a plan -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cubin of a plan, or its PTX where the driver or the device cannot take
// the cubin (rule C8: a newer ptxas writes cubins that an older driver
// refuses).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_RANK_PLANKERNELS_H
#define WEFT_RUNTIME_SRC_CUDA_RANK_PLANKERNELS_H

#include "cuda/platform/Device.h"
#include "cuda/platform/KernelModule.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace weft::runtime {

class PlanKernels {
public:
  /// Loads the code onto the current device and resolves all kernels. `note` is
  /// told when the PTX stands in for a cubin.
  static Result<PlanKernels>
  load(const Cudart &cudart, const plan::Plan &plan, const CudaDevice &device,
       const std::function<void(const std::string &)> &note);

  cudaKernel_t kernel(uint32_t index) const { return kernels[index]; }

private:
  /// None for a plan without kernels.
  std::optional<KernelModule> module;
  std::vector<cudaKernel_t> kernels;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_RANK_PLANKERNELS_H
