//===- Operation.h - Work of a library on the device ------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GEMM or attention of a plan, bound to its memory: what is enqueued on
// the compute stream of a rank, step after step.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_PLATFORM_OPERATION_H
#define WEFT_RUNTIME_SRC_CUDA_PLATFORM_OPERATION_H

#include "weft/runtime/Status.h"

#include <cuda_runtime_api.h>

#include <cstddef>

namespace weft::runtime {

class CudaOperation {
public:
  virtual ~CudaOperation() = default;

  /// Bytes of device memory that it works in. The operations of one rank share
  /// it: they run one after the other, and find in it what the last one left.
  virtual size_t workspaceBytes() const { return 0; }

  /// Called once, before the first `enqueue`. The memory is aligned to 256
  /// bytes and stays where it is.
  virtual void bindWorkspace(void *) {}

  /// Puts the work on the stream. Allocates nothing, waits for nothing, and may
  /// be captured in a graph.
  virtual Status enqueue(cudaStream_t stream) = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_PLATFORM_OPERATION_H
