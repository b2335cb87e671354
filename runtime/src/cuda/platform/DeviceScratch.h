//===- DeviceScratch.h - Device memory for trials ---------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory in which operations are measured and checked while a plan is loaded:
// that of the arena, and beside it what has no room there.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_PLATFORM_DEVICESCRATCH_H
#define WEFT_RUNTIME_SRC_CUDA_PLATFORM_DEVICESCRATCH_H

#include "cuda/platform/Context.h"
#include "weft/runtime/DType.h"

#include <cstdint>
#include <vector>

namespace weft::runtime {

/// Device memory, given back at the end, when nothing is on the compute stream
/// any more; after a failed wait never. Of two at a time the later one ends
/// first.
class DeviceScratch {
public:
  explicit DeviceScratch(const CudaContext &context)
      : context(context), cudart(context.cudart),
        takenBefore(context.spareTaken) {}
  ~DeviceScratch();
  DeviceScratch(const DeviceScratch &) = delete;
  DeviceScratch &operator=(const DeviceScratch &) = delete;

  /// Uninitialised.
  Result<void *> allocate(size_t bytes);
  /// Numbers of the type from -1 to 1, the same ones for the same seed.
  Result<void *> random(DType dtype, int64_t elements, int seed = 1);

private:
  const CudaContext &context;
  const Cudart &cudart;
  /// Of the spare memory.
  const size_t takenBefore;
  /// Beside it.
  std::vector<void *> pieces;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_PLATFORM_DEVICESCRATCH_H
