//===- MemoryNeeds.h - What a rank allocates on its device ------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan's memory is known before it is allocated: the arena and what kernels
// work in stand in the plan, what libraries want is known once their algorithms
// are chosen. When it is too much, one message says what wants how much, and
// how much there is.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_RANK_MEMORYNEEDS_H
#define WEFT_RUNTIME_SRC_CUDA_RANK_MEMORYNEEDS_H

#include "cuda/platform/Device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::runtime {

struct MemoryNeed {
  std::string what;
  uint64_t bytes = 0;
};

/// Bytes that the largest kernel of the plan works in.
uint64_t kernelWorkspaceBytes(const plan::Plan &plan);

/// What stands in the plan: all that is sure before algorithms are chosen,
/// which may want nothing.
std::vector<MemoryNeed> needsOfPlan(const plan::Plan &plan,
                                    uint64_t arenaBytes);

/// Fails with all needs of one rank when `ranks` of them want more than
/// `available` bytes.
Status checkMemory(const CudaDevice &device,
                   const std::vector<MemoryNeed> &needs, size_t ranks,
                   uint64_t available);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_RANK_MEMORYNEEDS_H
