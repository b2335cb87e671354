//===- Nvtx.h - Names for profilers -----------------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranges that Nsight shows over what is enqueued in them. The headers of NVTX
// load a library of the profiler when there is one; without it a range costs a
// comparison.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_PLATFORM_NVTX_H
#define WEFT_RUNTIME_SRC_CUDA_PLATFORM_NVTX_H

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define WEFT_HAS_NVTX 1
#endif

namespace weft::runtime {

class NvtxRange {
public:
#if WEFT_HAS_NVTX
  explicit NvtxRange(const char *name) {
    // What looks for the profiler replaces functions that another thread's
    // first range may be calling: it is done once, and the others wait.
    [[maybe_unused]] static const bool isReady =
        (nvtxInitialize(nullptr), true);
    nvtxRangePushA(name);
  }
  ~NvtxRange() { nvtxRangePop(); }
#else
  explicit NvtxRange(const char *) {}
#endif
  NvtxRange(const NvtxRange &) = delete;
  NvtxRange &operator=(const NvtxRange &) = delete;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_PLATFORM_NVTX_H
