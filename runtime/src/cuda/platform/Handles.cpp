//===- Handles.cpp - What CUDA gives out and wants back ---------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cuda/platform/Handles.h"

#include <fmt/format.h>

namespace weft::runtime {

Result<DeviceMemory> allocateDevice(const Cudart &cudart, size_t bytes,
                                    std::string_view what) {
  void *memory = nullptr;
  if (bytes != 0)
    WEFT_RETURN_IF_ERROR(cudaStatus(
        cudart, cudart.malloc(&memory, bytes),
        fmt::format("cudaMalloc of {} bytes for the {}", bytes, what)));
  return DeviceMemory(cudart, memory);
}

Result<PinnedMemory> allocatePinned(const Cudart &cudart, size_t bytes) {
  void *memory = nullptr;
  if (bytes != 0)
    WEFT_RETURN_IF_ERROR(
        cudaStatus(cudart, cudart.mallocHost(&memory, bytes),
                   fmt::format("cudaMallocHost of {} bytes", bytes)));
  return PinnedMemory(cudart, memory);
}

Result<StreamOwner> createStream(const Cudart &cudart, int priority) {
  cudaStream_t stream = nullptr;
  WEFT_RETURN_IF_ERROR(cudaStatus(
      cudart,
      cudart.streamCreateWithPriority(&stream, cudaStreamNonBlocking, priority),
      "cudaStreamCreateWithPriority"));
  return StreamOwner(cudart, stream);
}

Result<EventOwner> createEvent(const Cudart &cudart, bool isTimed) {
  cudaEvent_t event = nullptr;
  const unsigned flags = isTimed ? cudaEventDefault : cudaEventDisableTiming;
  WEFT_RETURN_IF_ERROR(cudaStatus(cudart,
                                  cudart.eventCreateWithFlags(&event, flags),
                                  "cudaEventCreateWithFlags"));
  return EventOwner(cudart, event);
}

} // namespace weft::runtime
