//===- StreamPoll.h - A wait for a stream that ends -------------*- C++ -*-===//
//
// Part of the Weft project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUDA's own waits end when the device does what it was given, and never if it
// hangs. Who polls can look at other things in between: a clock, and whether
// another rank has failed.
//
//===----------------------------------------------------------------------===//

#ifndef WEFT_RUNTIME_SRC_CUDA_PLATFORM_STREAMPOLL_H
#define WEFT_RUNTIME_SRC_CUDA_PLATFORM_STREAMPOLL_H

#include "comm/EventCount.h"
#include "cuda/platform/Libraries.h"

#include <chrono>
#include <thread>

namespace weft::runtime {

/// Asks a stream whether it is done, again and again and never without bound.
class StreamPoll {
public:
  StreamPoll(const Cudart &cudart, cudaStream_t stream)
      : cudart(cudart), stream(stream), begin(Clock::now()) {}
  // "Not ready" is an error, too, which libraries would take for theirs.
  ~StreamPoll() {
    if (wasBusy)
      (void)cudart.getLastError();
  }
  StreamPoll(const StreamPoll &) = delete;
  StreamPoll &operator=(const StreamPoll &) = delete;

  /// cudaErrorNotReady while it is busy.
  cudaError_t ask() {
    const cudaError_t state = cudart.streamQuery(stream);
    wasBusy |= state == cudaErrorNotReady;
    return state;
  }
  /// A little at first, and not at once again later.
  void pause() const {
    if (Clock::now() - begin < std::chrono::milliseconds(2))
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

private:
  const Cudart &cudart;
  const cudaStream_t stream;
  const Clock::time_point begin;
  bool wasBusy = false;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SRC_CUDA_PLATFORM_STREAMPOLL_H
