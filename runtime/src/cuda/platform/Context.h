//===- Context.h - What operations on a device are bound to -----*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The libraries, the device and the stream of one rank. Lives as long as what
// was bound with it.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_PLATFORM_CONTEXT_H
#define WEFT_RUNTIME_SRC_CUDA_PLATFORM_CONTEXT_H

#include "cuda/platform/Libraries.h"

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

class SharedAlgorithms;

struct CudaContext {
  const Cudart &cudart;
  /// Loaded when the plan has products.
  const CublasLt &cublasLt;
  /// Null when it was not found, or the plan has no attention.
  const Cudnn *cudnn;

  /// Number of the device in this process, which is current in the thread of
  /// the rank.
  int device;
  /// Its compute capability: 90 for 9.0.
  int processor;
  /// "NVIDIA H200".
  std::string deviceName;
  /// The stream that operations run on, also when they are measured at load.
  cudaStream_t compute;

  /// Why `cudnn` is null.
  std::string whyNoCudnn = {};
  /// Takes what a user may want to know of how operations were bound: that a
  /// library was not used, and why.
  std::function<void(const std::string &text)> note = [](const std::string &) {
  };

  /// Null unless the ranks are processes, which then choose together.
  SharedAlgorithms *algorithms = nullptr;
  /// Whether what is chosen must be the same in every run: nothing is measured.
  bool isDeterministic = false;
  /// Multiprocessors that GEMMs beside a collective may have; 0 = all.
  int processorsBesideCollectives = 0;

  /// Device memory for trials, before others: the arena, which has nothing in
  /// it while they run, so that a plan may have all of the device. Aligned to
  /// 256 bytes.
  std::span<std::byte> spare = {};
  /// Bytes of it that are taken, from the start.
  mutable size_t spareTaken = 0;

  /// Number of the rank, for messages.
  int rank = 0;
  /// How long the device may take for what is given to it outside of runs.
  /// Nothing else is enqueued then, and most take milliseconds.
  std::chrono::nanoseconds patience = std::chrono::minutes(2);
  /// An error ends a wait: another rank has failed.
  std::function<Status()> whyToStop = [] { return Status(); };

  /// Waits for what is on the compute stream, or another one, outside of runs:
  /// never without bound. `what` is for the message: "the copy of a state".
  Status synchronize(std::string_view what) const;
  Status synchronize(cudaStream_t stream, std::string_view what) const;

  /// Whether a wait has failed. The device may still be at work: what it works
  /// on is not given back, which would be to wait for it, and nothing else is
  /// tried on it.
  mutable bool waitFailed = false;
  /// After a failed wait: keeps libraries and programs, whose end is a wait,
  /// too, as long as this context lives.
  void leave(std::shared_ptr<const void> used) const;
  mutable std::vector<std::shared_ptr<const void>> left = {};
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_PLATFORM_CONTEXT_H
