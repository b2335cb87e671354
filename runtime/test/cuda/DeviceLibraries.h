//===- DeviceLibraries.h - An emulated GPU ----------------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lets sessions in a test run on the emulated device (emulator/), or, where
// WEFT_TEST_GPU is set, on the machine's own.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_TEST_CUDA_DEVICELIBRARIES_H
#define WEFT_RUNTIME_TEST_CUDA_DEVICELIBRARIES_H

#include "CudaPlan.h"

#include <cstdlib>
#include <string>
#include <string_view>

namespace weft::runtime {

namespace embedded {
extern const std::string_view TestKernels;
} // namespace embedded

/// The PTX of kernels/TestKernels.cu.
inline std::string testKernels() { return std::string(embedded::TestKernels); }

struct DeviceLibraries {
  DeviceLibraries() {
    if (!std::getenv("WEFT_TEST_GPU"))
      setenv("WEFT_CUDA_LIBRARIES", WEFT_CUDA_EMULATOR, 1);
  }
  ~DeviceLibraries() { unsetenv("WEFT_CUDA_LIBRARIES"); }
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TEST_CUDA_DEVICELIBRARIES_H
