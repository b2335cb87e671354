//===- Handles.h - What CUDA gives out and wants back -----------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory, streams, events and graphs that are given back when their owner goes.
// All are made at load; a step makes none (rule C1).
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_PLATFORM_HANDLES_H
#define WEFT_RUNTIME_SRC_CUDA_PLATFORM_HANDLES_H

#include "cuda/platform/Libraries.h"

#include <cstddef>
#include <utility>

namespace weft::runtime {

/// A handle and the member of Cudart that destroys it.
template <typename Handle, auto Destroy> class CudaOwner {
public:
  CudaOwner() = default;
  CudaOwner(const Cudart &cudart, Handle handle)
      : cudart(&cudart), handle(handle) {}
  CudaOwner(CudaOwner &&other) noexcept
      : cudart(other.cudart), handle(std::exchange(other.handle, Handle())) {}
  CudaOwner &operator=(CudaOwner &&other) noexcept {
    std::swap(cudart, other.cudart);
    std::swap(handle, other.handle);
    return *this;
  }
  // A failure is one that an earlier call has reported.
  ~CudaOwner() {
    if (handle)
      (void)(cudart->*Destroy)(handle);
  }

  Handle get() const { return handle; }
  explicit operator bool() const { return handle != Handle(); }

private:
  const Cudart *cudart = nullptr;
  Handle handle = Handle();
};

using DeviceMemory = CudaOwner<void *, &Cudart::free>;
/// Host memory that the device reads and writes without a copy in between.
using PinnedMemory = CudaOwner<void *, &Cudart::freeHost>;
using StreamOwner = CudaOwner<cudaStream_t, &Cudart::streamDestroy>;
using EventOwner = CudaOwner<cudaEvent_t, &Cudart::eventDestroy>;
using GraphOwner = CudaOwner<cudaGraph_t, &Cudart::graphDestroy>;
using GraphExecOwner = CudaOwner<cudaGraphExec_t, &Cudart::graphExecDestroy>;

/// Nothing is allocated for 0 bytes. `what` is for the message: "arena".
Result<DeviceMemory> allocateDevice(const Cudart &cudart, size_t bytes,
                                    std::string_view what);
Result<PinnedMemory> allocatePinned(const Cudart &cudart, size_t bytes);
/// A stream that does not wait for the default one. Priorities below 0 come
/// first.
Result<StreamOwner> createStream(const Cudart &cudart, int priority);
/// `isTimed` events can be subtracted, and cost more.
Result<EventOwner> createEvent(const Cudart &cudart, bool isTimed = false);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_PLATFORM_HANDLES_H
