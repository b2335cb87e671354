//===- JobDevices.h - The devices of the ranks of a job ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each process of a job tells the others about its device before they
// create communicators: NCCL wants a device for each rank, and ranks with like
// devices compute alike.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_RANK_JOBDEVICES_H
#define WEFT_RUNTIME_SRC_CUDA_RANK_JOBDEVICES_H

#include "cuda/platform/Device.h"
#include "weft/runtime/Bootstrap.h"

#include <string>
#include <vector>

namespace weft::runtime {

/// The device of a rank. All texts are of one line.
struct JobDevice {
  /// The host, or what NCCL_HOSTID says instead of it.
  std::string host;
  /// "GPU-5e1f...".
  std::string uuid;
  /// "NVIDIA H200, cuBLASLt 130100": whoever has the same can use the same
  /// algorithms.
  std::string kind;
  /// Sets the sessions of a process apart.
  std::string session;
};

/// The device of this process; `cublasLt` is the version of the library, or 0.
JobDevice jobDevice(const CudaDevice &device, size_t cublasLt);

/// Those of all ranks, in their order.
Result<std::vector<JobDevice>> exchangeDevices(Bootstrap &bootstrap,
                                               const JobDevice &mine,
                                               std::chrono::nanoseconds time);

/// Whether NCCL will take them: no device of a host twice.
Status checkOneDeviceEach(const std::vector<JobDevice> &devices);

/// The first rank with a device of the kind that `rank` has.
int firstOfKind(const std::vector<JobDevice> &devices, int rank);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_RANK_JOBDEVICES_H
