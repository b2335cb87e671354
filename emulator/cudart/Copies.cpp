//===- Copies.cpp - Exported: memory --------------------------------------===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <atomic>
#include <cstring>

using namespace weft::emulator;

namespace {

/// Rows of bytes from one address to another.
struct Copy {
  std::byte *to;
  const std::byte *from;
  size_t toPitch, fromPitch, width, height;

  void operator()() const {
    if (height == 1 && width == sizeof(uint32_t) &&
        reinterpret_cast<uintptr_t>(to) % sizeof(uint32_t) == 0)
      return copyWord();
    for (size_t row = 0; row < height; ++row)
      std::memmove(to + row * toPitch, from + row * fromPitch, width);
  }

private:
  /// At once, as a device does it: threads may look at the word meanwhile.
  void copyWord() const {
    uint32_t word;
    std::memcpy(&word, from, sizeof word);
    std::atomic_ref(*reinterpret_cast<uint32_t *>(to)).store(word);
  }
};

enum class Side { Device, Pinned, Pageable };

/// What kind of memory the rows are in; throws unless `kind` says so, too.
Side sideOf(const Device &device, const void *pointer, size_t pitch,
            const Copy &copy, bool isDevice, bool isKnown) {
  auto allocation = device.memory.find(pointer);
  size_t extent = (copy.height - 1) * pitch + copy.width;
  if (!allocation) {
    require(!isKnown || !isDevice, cudaErrorInvalidValue,
            "the kind of the copy says device memory, and the pointer is none");
    return Side::Pageable;
  }
  require(allocation->contains(reinterpret_cast<uint64_t>(pointer), extent),
          cudaErrorInvalidValue, "the copy leaves the allocation");
  require(!isKnown || isDevice || allocation->isHost(), cudaErrorInvalidValue,
          "the kind of the copy says host memory, and the pointer is of a "
          "device");
  return allocation->isHost() ? Side::Pinned : Side::Device;
}

void enqueueCopy(Device &device, Copy copy, cudaMemcpyKind kind,
                 cudaStream_t stream) {
  if (copy.width == 0 || copy.height == 0)
    return;
  bool isKnown = kind != cudaMemcpyDefault;
  bool toDevice =
      kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool fromDevice =
      kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  Side to = sideOf(device, copy.to, copy.toPitch, copy, toDevice, isKnown);
  Side from =
      sideOf(device, copy.from, copy.fromPitch, copy, fromDevice, isKnown);
  WorkPointer wait;
  {
    std::lock_guard lock(device.mutex);
    CUstream_st &target = device.stream(stream);
    bool pageable = to == Side::Pageable || from == Side::Pageable;
    if (target.capture && pageable) {
      target.capture->isValid = false;
      throw CudaError{cudaErrorStreamCaptureUnsupported,
                      "a copy of pageable memory cannot be captured"};
    }
    if (from == Side::Pageable) {
      // Is staged: the caller may write to it as soon as the call returns.
      auto staged =
          std::make_shared<std::vector<std::byte>>(copy.width * copy.height);
      Copy stage = copy;
      stage.to = staged->data();
      stage.toPitch = copy.width;
      stage();
      copy.from = staged->data();
      copy.fromPitch = copy.width;
      wait = device.enqueue(target, "copy", [copy, staged] { copy(); });
    } else {
      wait = device.enqueue(target, "copy", copy);
    }
  }
  // Copies to pageable memory return when they are done.
  if (to == Side::Pageable)
    device.scheduler.wait(wait);
}

Copy dense(void *to, const void *from, size_t bytes) {
  return {static_cast<std::byte *>(to),
          static_cast<const std::byte *>(from),
          bytes,
          bytes,
          bytes,
          1};
}

void enqueueFill(Device &device, void *pointer, int value, size_t bytes,
                 cudaStream_t stream) {
  auto allocation = device.memory.find(pointer);
  require(bytes == 0 ||
              (allocation && allocation->contains(
                                 reinterpret_cast<uint64_t>(pointer), bytes)),
          cudaErrorInvalidValue, "the bytes are not in one allocation");
  std::lock_guard lock(device.mutex);
  device.enqueue(device.stream(stream), "fill", [=] {
    if (bytes)
      std::memset(pointer, value, bytes);
  });
}

void allocate(const char *name, Device &device, void **pointer, size_t bytes,
              int owner) {
  {
    std::lock_guard lock(device.mutex);
    device.forbidInCapture(name);
  }
  *pointer = nullptr;
  if (bytes == 0)
    return;
  bool fits = owner < 0 || device.memory.usedBytes(owner) + bytes <=
                               device.settings.memoryBytes;
  *pointer = fits ? device.memory.allocate(owner, bytes) : nullptr;
  require(*pointer, cudaErrorMemoryAllocation, "out of memory");
}

void release(const char *name, Device &device, void *pointer, bool isHost) {
  if (!pointer)
    return;
  {
    std::lock_guard lock(device.mutex);
    device.forbidInCapture(name);
  }
  device.scheduler.waitForAll();
  std::string damage;
  require(device.memory.free(pointer, isHost, damage), cudaErrorInvalidValue,
          "nothing was allocated there");
  if (!damage.empty()) {
    device.stickyError = cudaErrorIllegalAddress;
    device.report(damage);
  }
}

} // namespace

extern "C" {

WEFT_EMULATOR_EXPORT cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  return call(__func__, [&](Device &device) {
    allocate("cudaMalloc", device, pointer, bytes, currentDevice);
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaMallocHost(void **pointer, size_t bytes) {
  return call(__func__, [&](Device &device) {
    allocate("cudaMallocHost", device, pointer, bytes, -1);
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaFree(void *pointer) {
  return call(__func__, [&](Device &device) {
    release("cudaFree", device, pointer, false);
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaFreeHost(void *pointer) {
  return call(__func__, [&](Device &device) {
    release("cudaFreeHost", device, pointer, true);
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  return call(__func__, [&](Device &device) {
    *total = device.settings.memoryBytes;
    *free = *total - device.memory.usedBytes(currentDevice);
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaMemcpyAsync(void *to, const void *from,
                                                 size_t bytes,
                                                 cudaMemcpyKind kind,
                                                 cudaStream_t stream) {
  return call(__func__, [&](Device &device) {
    enqueueCopy(device, dense(to, from, bytes), kind, stream);
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaMemcpy(void *to, const void *from,
                                            size_t bytes, cudaMemcpyKind kind) {
  return call(__func__, [&](Device &device) {
    enqueueCopy(device, dense(to, from, bytes), kind, nullptr);
    WorkPointer tail;
    {
      std::lock_guard lock(device.mutex);
      tail = device.stream(nullptr).tail;
    }
    device.scheduler.wait(tail);
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaMemcpy2DAsync(
    void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width,
    size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return call(__func__, [&](Device &device) {
    require(width <= toPitch && width <= fromPitch, cudaErrorInvalidPitchValue,
            "rows are wider than their pitch");
    Copy copy = dense(to, from, width);
    copy.toPitch = toPitch;
    copy.fromPitch = fromPitch;
    copy.height = height;
    enqueueCopy(device, copy, kind, stream);
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaMemsetAsync(void *pointer, int value,
                                                 size_t bytes,
                                                 cudaStream_t stream) {
  return call(__func__, [&](Device &device) {
    enqueueFill(device, pointer, value, bytes, stream);
  });
}

WEFT_EMULATOR_EXPORT cudaError_t cudaMemset(void *pointer, int value,
                                            size_t bytes) {
  return call(__func__, [&](Device &device) {
    enqueueFill(device, pointer, value, bytes, nullptr);
  });
}

} // extern "C"
