//===- Cuda.h - What tests of the device start from -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_EMULATOR_TEST_CUDA_H
#define WEFT_EMULATOR_TEST_CUDA_H

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace weft::emulator {

#define EXPECT_CUDA(call) EXPECT_EQ(call, cudaSuccess)

cudaStream_t makeStream();
cudaEvent_t makeEvent();

/// So many numbers that nobody has written.
struct Unset {
  size_t count;
};

/// Numbers in memory of the device.
class DeviceFloats {
public:
  explicit DeviceFloats(Unset size);
  explicit DeviceFloats(const std::vector<float> &values);
  DeviceFloats(std::initializer_list<float> values)
      : DeviceFloats(std::vector<float>(values)) {}
  ~DeviceFloats() { (void)cudaFree(data); }
  DeviceFloats(const DeviceFloats &) = delete;
  DeviceFloats &operator=(const DeviceFloats &) = delete;

  /// The numbers, after everything that was enqueued.
  std::vector<float> read() const;

  float *data = nullptr;
  size_t count;
};

/// Kernels of PTX, or of EmulatorKernels.cu.
class Kernels {
public:
  Kernels();
  explicit Kernels(const char *ptx);
  ~Kernels() { (void)cudaLibraryUnload(library); }
  Kernels(const Kernels &) = delete;
  Kernels &operator=(const Kernels &) = delete;

  template <typename... Arguments>
  cudaError_t launch(const std::string &name, dim3 grid, dim3 block,
                     cudaStream_t stream, Arguments... arguments) const {
    void *pointers[] = {&arguments...};
    return cudaLaunchKernel(get(name), grid, block, pointers, 0, stream);
  }
  cudaKernel_t get(const std::string &name) const;

private:
  cudaLibrary_t library = nullptr;
};

} // namespace weft::emulator

#endif // WEFT_EMULATOR_TEST_CUDA_H
