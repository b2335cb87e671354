//===- Device.h - The GPU of a plan -----------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds out, before anything is allocated, whether a plan can run here: driver,
// device, processor. Each message names what is missing and what helps.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_PLATFORM_DEVICE_H
#define WEFT_RUNTIME_SRC_CUDA_PLATFORM_DEVICE_H

#include "cuda/platform/Libraries.h"
#include "weft/runtime/plan_generated.h"

#include <cstdint>
#include <string>

namespace weft::runtime {

struct CudaDevice {
  /// Its number in this process.
  int number = 0;
  /// "NVIDIA H200".
  std::string name;
  /// "GPU-5e1f...", the same for all processes.
  std::string uuid = {};
  /// Compute capability: 90 for 9.0.
  int processor = 0;
  /// Most shared memory that a block can have, what it declares and what its
  /// launch adds.
  size_t sharedBytes = 0;
  /// What the driver supports: 13000 for CUDA 13.0.
  int driver = 0;
};

/// "12.8" of 12080.
std::string cudaVersion(int version);

/// Makes device `number` current in this thread and says what it is.
Result<CudaDevice> openDevice(const Cudart &cudart, int number);

/// The compute capability that the plan's code is for: 90 for "sm_90" and for
/// "sm_90a"; of a verified plan.
int planProcessor(const plan::Plan &plan);

/// Whether the device can execute the plan's cubin or compile its PTX.
Status checkProcessor(const plan::Plan &plan, const CudaDevice &device);

/// Whether the device has the shared memory that blocks of the plan's kernels
/// ask for: PTX for sm_90 runs on sm_120, which has less than half of it.
Status checkSharedMemory(const plan::Plan &plan, const CudaDevice &device);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_PLATFORM_DEVICE_H
