//===- DeviceMarks.h - How far a device has come ----------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between pieces of work a device copies numbers to a word of host memory. Who
// reads the word calls nothing of CUDA, so that it may be read by any thread,
// also while the device hangs or a stream is captured (rule C2), and works for
// graphs as well.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_RANK_DEVICEMARKS_H
#define WEFT_RUNTIME_SRC_CUDA_RANK_DEVICEMARKS_H

#include "cuda/platform/Context.h"
#include "cuda/platform/Handles.h"

#include <atomic>
#include <cstdint>

namespace weft::runtime {

class DeviceMarks {
public:
  DeviceMarks() = default;
  /// For numbers below `count`. In place, so that a failed wait leaves the
  /// memory to its owner.
  Status prepare(const CudaContext &context, uint32_t count);

  /// The device writes the number when it has done what is on the stream.
  Status write(uint32_t number, cudaStream_t stream) const;
  /// The last number it has written since `clear`, or 0.
  uint32_t last() const { return memory ? std::atomic_ref(*word()).load() : 0; }
  void clear() const { std::atomic_ref(*word()).store(0); }

private:
  uint32_t *word() const { return static_cast<uint32_t *>(memory.get()); }

  const Cudart *cudart = nullptr;
  /// 0, 1, 2, ... on the device.
  DeviceMemory numbers;
  PinnedMemory memory;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_RANK_DEVICEMARKS_H
