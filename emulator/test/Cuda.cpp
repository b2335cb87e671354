//===- Cuda.cpp - What tests of the device start from ---------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda.h"

#include <string_view>

namespace weft::runtime::embedded {
extern const std::string_view EmulatorKernels;
}

namespace weft::emulator {

cudaStream_t makeStream() {
  cudaStream_t stream = nullptr;
  EXPECT_CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0));
  return stream;
}

cudaEvent_t makeEvent() {
  cudaEvent_t event = nullptr;
  EXPECT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

DeviceFloats::DeviceFloats(Unset size) : count(size.count) {
  EXPECT_CUDA(cudaMalloc(reinterpret_cast<void **>(&data), 4 * count));
}

DeviceFloats::DeviceFloats(const std::vector<float> &values)
    : DeviceFloats(Unset{values.size()}) {
  EXPECT_CUDA(
      cudaMemcpy(data, values.data(), 4 * count, cudaMemcpyHostToDevice));
}

std::vector<float> DeviceFloats::read() const {
  std::vector<float> values(count);
  EXPECT_CUDA(cudaDeviceSynchronize());
  EXPECT_CUDA(
      cudaMemcpy(values.data(), data, 4 * count, cudaMemcpyDeviceToHost));
  return values;
}

Kernels::Kernels()
    : Kernels(std::string(runtime::embedded::EmulatorKernels).c_str()) {}

Kernels::Kernels(const char *ptx) {
  EXPECT_CUDA(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr,
                                  nullptr, 0));
}

cudaKernel_t Kernels::get(const std::string &name) const {
  cudaKernel_t kernel = nullptr;
  EXPECT_CUDA(cudaLibraryGetKernel(&kernel, library, name.c_str()));
  return kernel;
}

} // namespace weft::emulator
